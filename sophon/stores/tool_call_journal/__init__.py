"""The journal of tool calls by run; contract, in-memory and SQL store."""
