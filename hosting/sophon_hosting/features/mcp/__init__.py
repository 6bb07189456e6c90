"""MCP: servers whose tools the host offers (`client`), and the host as a server of its own tools (`server`)."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "mcp": Command(
        "commands",
        "Offer the host to MCP clients; add, list, restart and remove MCP servers.",
        330,
        "[MCP servers](mcp.md) whose tools a host uses, and the host as an [MCP server](mcp-server.md)",
    ),
}

SETTINGS: Final = ("sophon_hosting.features.mcp.settings:McpSettings",)
