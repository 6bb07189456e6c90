"""Listener: accepts connections in small batches, so that a flood does not take the last open files."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from aiohttp import web

from sophon._python.rate_limited_log import RateLimitedLog
from sophon_hosting.client_api.client_address import TrustedProxies
from sophon_hosting.http.connections.http_connection import HttpConnection
from sophon_hosting.http.connections.limiter import ConnectionLimiter

ACCEPT_BATCH = 8
"""Connections accepted per pass of the event loop; each takes an open file before the limiter sees it."""

BACKLOG = 128
"""Length of the queue of connections that the kernel has accepted."""

LINGERING_SECONDS = 2.0
"""Time for which the rest of a refused body is read, so that the client can read the response."""

OUT_OF_FILES = "socket.accept() out of system resource"
"""Message of asyncio's event loop when no open file is left for a new connection."""


class Listener:
    """Listener of an `AppRunner` on a bound socket; `close` it before the runner's cleanup."""

    def __init__(self, limiter: ConnectionLimiter, proxies: TrustedProxies, log: RateLimitedLog) -> None:
        self._limiter, self._proxies, self._log = limiter, proxies, log
        self._server: asyncio.Server | None = None

    @property
    def runner_options(self) -> Mapping[str, Any]:
        """Options of aiohttp's `RequestHandler`, also for the `AppRunner`."""
        return {
            "access_log": None,
            "auto_decompress": False,
            "keepalive_timeout": self._limiter.limits.request_timeout_seconds,
            "lingering_time": LINGERING_SECONDS,
        }

    async def start(self, runner: web.AppRunner, listener: socket.socket) -> None:
        """Accept connections for a runner that has been set up."""
        assert runner.server is not None
        make_connection = partial(
            HttpConnection,
            runner.server,
            self._limiter,
            self._log,
            self._proxies.limited_address,
            **self.runner_options,
        )
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(make_connection, sock=listener, backlog=ACCEPT_BATCH)
        listener.listen(BACKLOG)  # asyncio has set it to the batch

    def close(self) -> None:
        """Accept no more connections; the open ones stay."""
        if self._server is not None:
            self._server.close()


def report_accept_errors(log: RateLimitedLog, on_refused: Callable[[], None]) -> None:
    """Make the running event loop report failed accepts in one line per minute, not with a traceback each."""
    loop = asyncio.get_running_loop()
    previous = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context.get("message") == OUT_OF_FILES:
            on_refused()
            log.warning("files", "cannot accept a connection: %s; see `ulimit -n`", context.get("exception"))
        elif previous is not None:
            previous(loop, context)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
