"""Channel state: small values that channels keep across restarts; contract, in-memory and SQL store."""
