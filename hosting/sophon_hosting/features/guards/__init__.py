"""Guards: the audit log, and the rules of what is allowed."""
