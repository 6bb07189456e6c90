"""HTTP transport of the model adapters: connection pool, bounded responses, event streams."""
