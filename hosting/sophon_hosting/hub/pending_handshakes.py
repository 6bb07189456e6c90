"""Pending handshakes: connections without an authenticated client, limited in time and in number per address."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from sophon._python.rate_limited_log import RateLimitedLog
from sophon.clock import Clock
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.hub.hub_client import HubConnection
from sophon_hosting.hub.limits import HubLimits


class PendingHandshakes:
    """Unauthenticated connections by address, the oldest first.

    Beyond `HubLimits.max_unauthenticated_per_address` the oldest one of an address is closed, not the newest refused:
    whoever merely opens connections would lock out everybody else at the same address. `close` closes a connection.
    """

    def __init__(
        self, clock: Clock, limits: HubLimits, close: Callable[[HubConnection], Coroutine[Any, Any, None]]
    ) -> None:
        self._clock, self._limits, self._close = clock, limits, close
        self._by_address: dict[str, dict[HubConnection, asyncio.Task[None]]] = {}
        self._closing = BackgroundTasks()
        self._log = RateLimitedLog(logging.getLogger("sophon"), clock.monotonic)

    def __len__(self) -> int:
        return sum(map(len, self._by_address.values()))

    def start(self, connection: HubConnection) -> None:
        """Start the handshake timeout of a connection, unless it runs."""
        pending = self._by_address.setdefault(connection.address, {})
        if connection not in pending:
            pending[connection] = self._closing.start(self._close_after_timeout(connection))
        if len(pending) > self._limits.max_unauthenticated_per_address:
            self._log.warning(
                "unauthenticated",
                "closing the oldest of %d unauthenticated connections from %s",
                len(pending),
                connection.address,
            )
            oldest = next(iter(pending))
            self.cancel(oldest)
            self._closing.start(self._close(oldest))

    def cancel(self, connection: HubConnection) -> None:
        """Stop the timeout: the connection has a client, or is closed."""
        pending = self._by_address.get(connection.address, {})
        deadline = pending.pop(connection, None)
        if deadline is None:
            return
        if deadline is not asyncio.current_task():
            deadline.cancel()
        if not pending:
            del self._by_address[connection.address]

    async def aclose(self) -> None:
        """Wait until all timeouts and closings have ended; the connections must be closed before."""
        await self._closing.wait()

    async def _close_after_timeout(self, connection: HubConnection) -> None:
        await self._clock.sleep(self._limits.handshake_timeout_seconds)
        self._log.warning("handshake", "closing a connection from %s: no handshake in time", connection.address)
        await self._close(connection)
