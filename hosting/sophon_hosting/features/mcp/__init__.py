"""MCP: servers whose tools the host offers (`client`), and the host as a server of its own tools (`server`)."""
