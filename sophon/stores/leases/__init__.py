"""Leases: names that one process holds at a time; contract, in-memory and SQL store."""
