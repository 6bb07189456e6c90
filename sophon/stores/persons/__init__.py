"""Deletion of the rows that name a person outside of sessions and memory; contract, in-memory and SQL store."""
