"""`sophon mcp`: MCP servers and clients."""

import typer

from sophon_hosting.cli.commands.mcp_serve import serve

app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command("serve")(serve)


@app.callback()
def mcp() -> None:
    """Offer the host to MCP clients."""
