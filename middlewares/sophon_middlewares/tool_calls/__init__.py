"""Rules and records of tool calls that several middlewares share: checks, risk, limits, escalations, redaction."""
