"""Goals: contract, in-memory and SQL store."""
