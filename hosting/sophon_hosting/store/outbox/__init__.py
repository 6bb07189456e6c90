"""The outbox: outbound messages and their delivery status; contract, transitions, in-memory and SQL store."""
