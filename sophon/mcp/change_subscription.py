"""Subscription to the changes of a server's tools, which the protocol of 2026 has in place of notifications."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio
from mcp import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

log = logging.getLogger("sophon")

FIRST_PAUSE_SECONDS: Final = 1.0
MAX_PAUSE_SECONDS: Final = 60.0


@asynccontextmanager
async def follow_changes(client: Client, wake: Callable[[], None]) -> AsyncGenerator[None]:
    """Call `wake` at each change within the block; a handshake-era server sends notifications instead."""
    tools = client.server_capabilities.tools
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
        yield
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_follow, client, wake)
        yield
        tasks.cancel_scope.cancel()


async def _follow(client: Client, wake: Callable[[], None]) -> None:
    """Listen until the server refuses or closes; a lost stream is opened again, and the tools are read then."""
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    pause = FIRST_PAUSE_SECONDS
                    wake()
        except SubscriptionLost:
            await anyio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
            wake()
        except MCPError as error:
            log.info("an MCP server reports no changes of its tools: %s", error.error.message[:200])
            return
        else:
            return
