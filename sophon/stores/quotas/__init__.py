"""Quotas: uses that are counted within a window of time; contract, in-memory and SQL store."""
