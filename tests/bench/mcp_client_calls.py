"""A call of a tool of an MCP server in a process of its own: through the host's connection, beside the bare SDK.

`python -m tests.bench.mcp_client_calls`. Wall-clock times of one call after the other, best and median of interleaved
repetitions; each pair talks to servers of the same program, over stdio and over streamable HTTP. Of Sophon it is what a
turn pays for the tool itself, without guards and approval, which every tool has.
"""

import asyncio
import socket
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.hosting.features.mcp.client.sites import FEATURED, Site, featured, running

CALLS = 100
REPETITIONS = 5
Calls = dict[str, Callable[[], Awaitable[object]]]


async def measure(calls: Calls) -> None:
    """Print best and median of each."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPETITIONS):
        for name, call in calls.items():
            await call()
            for _ in range(CALLS):
                began = time.perf_counter()
                await call()
                samples[name].append((time.perf_counter() - began) * 1000)
    for name, found in samples.items():
        figures = f"{min(found):>10.2f} ms best {statistics.median(found):>8.2f} ms median"
        print(f"{'a call to an MCP server, ' + name:<58}{figures}")


def through_host(site: Site) -> Callable[[], Awaitable[object]]:
    """Return a call of the tool as a turn makes it."""
    ctx = site.services.turn("go")
    tool = site.services.registry.find("srv.plain")
    return lambda: tool.invoke({}, ctx)


async def wait_until_open(port: int) -> None:
    """Wait until a server listens."""
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.05)


async def main() -> None:
    """Measure both transports, in the protocol of 2026."""
    program = [sys.executable, "-I", FEATURED]
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    silent = asyncio.subprocess.DEVNULL
    server = await asyncio.create_subprocess_exec(*program, "--http", str(port), stdout=silent, stderr=silent)
    try:
        async with AsyncExitStack() as stack, asyncio.timeout(600):
            await wait_until_open(port)
            url = f"http://127.0.0.1:{port}/mcp"
            stdio = await stack.enter_async_context(running(featured()))
            http = await stack.enter_async_context(running({"Id": "srv", "Url": url}))
            parameters = StdioServerParameters(command=program[0], args=program[1:])
            bare_stdio = await stack.enter_async_context(Client(parameters))
            bare_http = await stack.enter_async_context(Client(url))
            await measure(
                {
                    "stdio": through_host(stdio),
                    "stdio, the bare SDK": lambda: bare_stdio.call_tool("plain", {}),
                    "HTTP": through_host(http),
                    "HTTP, the bare SDK": lambda: bare_http.call_tool("plain", {}),
                }
            )
    finally:
        server.kill()
        await server.wait()


if __name__ == "__main__":
    asyncio.run(main())
