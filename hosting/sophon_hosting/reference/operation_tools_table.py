"""Table of docs/mcp-server.md: the operations that are tools of MCP."""

from sophon_hosting.features.mcp.server.operation_tools import load_operation_tools
from sophon_hosting.operations.permission_check import TOKEN_ONLY
from sophon_hosting.reference.markdown_tables import render_table


def operation_tools_table() -> str:
    """Return a row for each operation that is declared as a tool."""
    rows = [
        (
            f"`{name}`",
            ", ".join(needed.removeprefix(TOKEN_ONLY) for needed in each.needs),
            "reads" if each.method == "GET" else "destructive",
            " ".join(each.description.split()),
        )
        for name, each in load_operation_tools().items()
    ]
    return render_table(("tool", "needs", "mark", ""), rows)
