"""Standing grants: approvals in advance for calls that fit a pattern; contract, in-memory and SQL store."""
