"""Changes of the tools: tells a client that the tools that its user may use are others now (`tools/list_changed`)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sophon.clock import Clock
from sophon.errors import SophonError
from sophon_hosting.features.tools.operations import get_tools_version
from sophon_hosting.operations.client import AsyncClient, HostUnreachable

log = logging.getLogger("sophon.mcp")

WAIT_SECONDS = 15.0
"""How long one request waits for a change."""

RETRY_SECONDS = 1.0
"""Pause before a host that does not answer is asked again."""


async def watch_tools(api: AsyncClient, version: str, notify: Callable[[], Awaitable[None]], clock: Clock) -> None:
    """Await `notify` after each change of the tools since a version, "" for that of now. Raises HostError.

    A host that does not answer is asked again: if its tools are others when it is back, that is a change too.
    """
    while True:
        try:
            found = (await api.call(get_tools_version, after=version, wait=WAIT_SECONDS))["version"]
        except HostUnreachable:
            await clock.sleep(RETRY_SECONDS)
            continue
        if version not in ("", found):
            await notify()
        version = found


async def serve_subscription(
    ctx: Any, params: types.SubscriptionsListenRequestParams, api: AsyncClient | None, clock: Clock
) -> types.SubscriptionsListenResult:
    """Serve `subscriptions/listen` until the client goes; without an `api`, for who may call no tools, nothing comes.

    Each stream watches with the token of its own request; it ends when the host refuses that.
    """
    bus = InMemorySubscriptionBus()
    handler = ListenHandler(bus)
    if api is None or not params.notifications.tools_list_changed:
        return await handler(ctx, params)
    watch = asyncio.create_task(watch_tools(api, "", lambda: bus.publish(ToolsListChanged()), clock))
    watch.add_done_callback(lambda _: handler.close())
    try:
        return await handler(ctx, params)
    finally:
        await _end(watch)


class ConnectionToolWatch:
    """Watch for the one connection of a server, if its client speaks a protocol without subscriptions.

    It begins with the first list of tools: who has listed none has no use for the news.
    """

    def __init__(self, api: AsyncClient, clock: Clock) -> None:
        self._api, self._clock = api, clock
        self._task: asyncio.Task[None] | None = None

    def begin(self, ctx: Any, version: str) -> None:
        """Begin to watch for changes since the version that the client has listed."""
        if self._task is None and ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            notify = ctx.session.send_tool_list_changed
            self._task = asyncio.create_task(watch_tools(self._api, version, notify, self._clock))

    async def aclose(self) -> None:
        """End the watch."""
        if self._task is not None:
            await _end(self._task)


async def _end(watch: asyncio.Task[None]) -> None:
    watch.cancel()
    (outcome,) = await asyncio.gather(watch, return_exceptions=True)
    if isinstance(outcome, SophonError):
        log.info("changes of the tools are told no longer: %s", outcome)
    elif isinstance(outcome, Exception):
        log.error("the watch for changes of the tools failed", exc_info=outcome)
