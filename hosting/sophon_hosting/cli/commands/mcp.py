"""`sophon mcp`: MCP servers and clients."""

import typer

from sophon_hosting.cli.commands.mcp_serve import serve
from sophon_hosting.cli.commands.mcp_servers import accept, list_servers

app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command("serve")(serve)
app.command("list")(list_servers)
app.command("accept")(accept)


@app.callback()
def mcp() -> None:
    """Offer the host to MCP clients; list the MCP servers whose tools it uses, and accept their tools."""
