"""Conversations off the record: a host in memory beside the host, and the store that it writes to."""
