"""Model gateway: the single entry point for model calls, with failover, retries, accounting and streaming."""
