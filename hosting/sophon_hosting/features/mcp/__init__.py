"""MCP servers whose tools the host offers."""
