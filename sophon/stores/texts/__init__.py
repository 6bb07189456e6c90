"""Large texts of a session, each stored once and referred to by id: contract, references, in-memory and SQL store."""
