"""Approval requests and their decisions; contract, in-memory and SQL store."""
