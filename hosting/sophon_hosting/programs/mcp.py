"""`sophon mcp`: MCP servers and clients."""

from sophon_hosting.cli.common_options import command_group
from sophon_hosting.programs.mcp_add import add, remove
from sophon_hosting.programs.mcp_serve import serve
from sophon_hosting.programs.mcp_servers import accept, list_servers, restart

app = command_group("Offer the host to MCP clients; add, list, restart and remove the MCP servers whose tools it uses.")
app.command("serve")(serve)
app.command("list")(list_servers)
app.command("add")(add)
app.command("remove")(remove)
app.command("accept")(accept)
app.command("restart")(restart)
