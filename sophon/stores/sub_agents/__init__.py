"""Ledger of sub-agents: which worked in which turn, and how each ended; contract, in-memory and SQL store."""
