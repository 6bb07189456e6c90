"""Sessions: the append-only records of a conversation; contract, shared rules, in-memory and SQL store."""
