"""The `traceparent` in `_meta` of a tool call, as a server of the SDK is told it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sophon.tools.untrusted_text import unfence_text
from sophon.traces.trace_context import PROPAGATED, TraceContext, derive_span_id
from tests.hosting.features.mcp.client.sites import call, running

pytestmark = pytest.mark.anyio

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SERVER = '''
import json
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("told")


@server.tool()
def told(ctx: Context) -> str:
    """Return what came with the call."""
    return json.dumps(dict(ctx.request_context.meta or {}), default=str)


server.run("stdio")
'''


async def told(folder: Path, protocol: str) -> tuple[Any, str]:
    """Return what a server was told of the trace, and the id of the turn."""
    script = folder / "told.py"
    script.write_text(SERVER)
    server = {"Id": "srv", "Command": sys.executable, "Args": ["-I", str(script)], "Protocol": protocol}
    async with running(server) as site:
        [result] = await site.call(call("srv.told"))
        task = next(each.task_id for each in site.events.events if each.task_id)
    return json.loads(unfence_text(result)).get("traceparent"), task


@pytest.mark.parametrize("protocol", ["Auto", "Legacy"])
async def test_a_server_is_told_the_span_of_the_call(tmp_path: Path, protocol: str) -> None:
    token = PROPAGATED.set(TraceContext(TRACE, SPAN))
    try:
        header, task = await told(tmp_path, protocol)
    finally:
        PROPAGATED.reset(token)
    assert header == f"00-{TRACE}-{derive_span_id(task, 'c')}-01"


async def test_without_a_trace_a_server_is_told_nothing(tmp_path: Path) -> None:
    assert (await told(tmp_path, "Auto"))[0] is None
