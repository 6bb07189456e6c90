"""A tool call over MCP: through `sophon mcp serve`'s server and a host over HTTP, beside the bare SDK.

`python -m tests.bench.mcp_calls`. Wall-clock times of one client in this process, best and median; the host is in this
process, too, with its store in memory, so that the figure contains guards, events, journal and the task.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.server.lowlevel import Server

from sophon import Risk, Services, tool
from sophon.clock import SystemClock
from sophon.testing import FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.features.mcp.server.server import create_server
from sophon_hosting.host import Host
from sophon_hosting.http.app import make_app
from sophon_hosting.operations.client import AsyncClient
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve

CALLS = 200


@tool(name="echo", risk=Risk.NONE)
async def echo(text: str) -> str:
    """Return a text."""
    return text


def bare_server() -> "Server[Any]":
    """Return a server of the SDK with the same tool and nothing behind it."""
    offered = types.Tool(name="echo", description="Return a text.", input_schema=dict(echo.parameters))

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[offered])

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=params.arguments["text"])])

    return Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)


async def measure(call: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Return the best and the median time of a call, in milliseconds."""
    await call()
    samples: list[float] = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await call()
        samples.append((time.perf_counter() - began) * 1000)
    return min(samples), statistics.median(samples)


async def calls(name: str, server: "Server[Any]") -> None:
    """Print the time of a call to a server."""
    async with Client(server) as client:
        best, median = await measure(lambda: client.call_tool("echo", {"text": "hello"}))
    print(f"{'a call over MCP, ' + name:<58}{best:>10.2f} ms best {median:>8.2f} ms median")


async def main() -> None:
    """Measure both."""
    from aiohttp import web

    await calls("the bare SDK", bare_server())
    services = Services(models=FunctionModel(lambda _: "unused"), tools=[echo], store=SqlHostStore("memory://"))
    async with Host(services, twelve(services)) as host:
        runner = web.AppRunner(make_app(host, TokenAuthenticator({})))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        await calls("through a host", create_server(lambda _: AsyncClient(url, None), SystemClock()))
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
