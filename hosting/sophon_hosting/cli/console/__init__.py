"""Terminal input and output: consoles, tables, JSON, escaping of control characters, stdin."""
