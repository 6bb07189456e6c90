"""The MCP server of `sophon mcp serve`: a running host for MCP clients (docs/mcp-server.md)."""
