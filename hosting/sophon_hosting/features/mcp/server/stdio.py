"""MCP over stdin and stdout, for a client that starts this process; stdout carries the protocol only."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server

from sophon.clock import SystemClock
from sophon_hosting.features.mcp.server.server import create_server
from sophon_hosting.features.mcp.server.tool_changes import ConnectionToolWatch
from sophon_hosting.operations.client import AsyncClient
from sophon_hosting.operations.current_user import get_current_user


async def serve_stdio(url: str, token: str | None) -> None:
    """Serve one client until it closes stdin. Raises HostError, HostUnreachable before that."""
    async with AsyncClient(url, token) as api:
        await api.call(get_current_user)

        @asynccontextmanager
        async def open_api(_: Any) -> AsyncGenerator[AsyncClient]:
            yield api

        clock = SystemClock()
        watch = ConnectionToolWatch(api, clock)
        server = create_server(open_api, clock, watch)
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        try:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, options)
        finally:
            await watch.aclose()
