"""The event log: durable events per session, numbered by seq; contract, in-memory and SQL store."""
