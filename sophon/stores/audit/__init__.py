"""The audit log: an append-only hash chain of what became of each tool call; contract, in-memory and SQL store."""
