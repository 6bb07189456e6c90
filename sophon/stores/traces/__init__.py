"""Traces of turns; contract, in-memory and SQL store."""
