"""`sophon mcp`: MCP servers and clients."""

from sophon_hosting.cli.common_options import command_group
from sophon_hosting.features.mcp.add_command import add, remove
from sophon_hosting.features.mcp.serve_command import serve
from sophon_hosting.features.mcp.server_commands import accept, list_servers, restart

app = command_group("Offer the host to MCP clients; add, list, restart and remove the MCP servers whose tools it uses.")
app.command("serve")(serve)
app.command("list")(list_servers)
app.command("add")(add)
app.command("remove")(remove)
app.command("accept")(accept)
app.command("restart")(restart)
