"""Hash chain of the audit log, and its signed head."""
