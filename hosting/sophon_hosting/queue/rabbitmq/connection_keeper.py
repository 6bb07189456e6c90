"""Reconnection to the broker: one connection after the other, with back-off; one that hangs is given up."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sophon._python.rate_limited_log import RateLimitedLog
from sophon_hosting.queue.rabbitmq.connection import BrokerConnection, BrokerError, Receiver
from sophon_hosting.queue.rabbitmq.topology import Topology

log = logging.getLogger("sophon")

MIN_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 0.1, 2.0
"""Wait before the next attempt to connect; it doubles with each."""


class ConnectionKeeper:
    """The connection of one process, opened anew whenever it ends.

    `on_open` is awaited with each new one, `on_end` is called when there is none any more. `is_away` tells that the
    last attempt failed, `reason` why.
    """

    def __init__(
        self,
        url: str,
        label: str,
        topology: Topology,
        member_id: str,
        heartbeat_seconds: int,
        receiver: Receiver,
        *,
        on_open: Callable[[BrokerConnection], Awaitable[None]],
        on_end: Callable[[], None],
    ) -> None:
        self._url, self._topology, self._member_id = url, topology, member_id
        self._heartbeat_seconds, self._receiver = heartbeat_seconds, receiver
        self._on_open, self._on_end = on_open, on_end
        self._heard_at = 0.0
        self._log = RateLimitedLog(log)
        self.label = label
        self.connection: BrokerConnection | None = None
        self.is_away, self.reason = False, "not connected"

    async def run(self) -> None:
        """Stay connected until cancelled."""
        backoff_seconds = MIN_BACKOFF_SECONDS
        while True:
            connection = BrokerConnection(self._topology, self._member_id)
            try:
                self.connection = connection
                self.note_message()
                await connection.open(self._url, self._heartbeat_seconds, self._receiver)
                await self._on_open(connection)
                self.is_away, backoff_seconds = False, MIN_BACKOFF_SECONDS
                await connection.wait_ended()
                log.info("the connection to %s has ended: %s", self.label, connection.reason)
                self._lose(connection.reason)
            except BrokerError as error:
                self.is_away = True
                self._lose(str(error))
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                self._log.warning("failed", "the connection to %s failed", self.label, error=error)
                self._lose(str(error))
            await connection.close()
            await asyncio.sleep(backoff_seconds)
            backoff_seconds = min(2 * backoff_seconds, MAX_BACKOFF_SECONDS)

    async def close(self) -> None:
        """Close the connection; call it when `run` has ended."""
        connection = self.connection
        self._lose("closed")
        if connection is not None:
            await connection.close()

    def note_message(self) -> None:
        """Note that the broker has delivered something."""
        self._heard_at = asyncio.get_running_loop().time()

    def find_responsive(self, stall_seconds: float) -> BrokerConnection | None:
        """Return the open connection, or None. One that is silent is ended; so is one of a process that has stalled."""
        connection, now = self.connection, asyncio.get_running_loop().time()
        if connection is None or not connection.is_open:
            return None
        if stall_seconds > self._heartbeat_seconds:
            # What it believed to know may be long past; a new connection finds out.
            connection.end("this process hung")
        elif now - self._heard_at > 2 * self._heartbeat_seconds:
            connection.end("the broker is silent")
        return connection if connection.is_open else None

    def _lose(self, reason: str) -> None:
        self.connection, self.reason = None, reason
        self._on_end()
