"""Loading of user code: entry points, import paths and tool modules."""
