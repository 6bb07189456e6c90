"""Maintenance of a store: checks, space, compaction; contract, in-memory and SQL store."""
