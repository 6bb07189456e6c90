"""Long-term memory entries; contract, in-memory and SQL store."""
