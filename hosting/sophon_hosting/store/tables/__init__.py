"""Tables of a host: runs, events, approvals, the outbox and the state of channels."""
