"""The MCP server of `sophon mcp serve`: tools, agent and sessions of a running host for MCP clients (docs/mcp-server.md)."""
