"""Failed log-ins of all processes of a group, by address: noted in the store, at most one write per second."""

import asyncio
import logging
from datetime import timedelta
from hashlib import blake2b
from typing import Final

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.failure_log import log_failure
from sophon.stores.rate_windows.contract import RateEvent, RateWindowStore

log = logging.getLogger("sophon")

FLUSH_SECONDS: Final = 1.0
"""Delay of a write, so that a flood of failures is one: the other processes count them this much later."""

MAX_PENDING: Final = 256
"""Failures that one write notes; further ones are counted by their own process alone."""

MAX_COUNTED: Final = 20
"""Failures that are read of an address; fewer give the longest delay."""


class SharedLoginFailures:
    """Failures of the last `forget_seconds`. Only addresses are shared: a wrong token leaves no trace in the store."""

    def __init__(self, windows: RateWindowStore, clock: Clock, forget_seconds: float) -> None:
        self._windows, self._clock, self._forget = windows, clock, timedelta(seconds=forget_seconds)
        self._pending: list[RateEvent] = []
        self._flush: asyncio.Task[None] | None = None
        # A failure is either pending or stored, also for whoever counts while it is written.
        self._storing = asyncio.Lock()

    async def count(self, address: str) -> int:
        """Note a failure of an address and return how many there were in all processes; 0 if the store does not say."""
        scope, now = address_scope(address), self._clock.now()
        if len(self._pending) < MAX_PENDING:
            self._pending.append(RateEvent(scope, now))
        if self._flush is None or self._flush.done():
            self._flush = asyncio.create_task(self._write_later())
        async with self._storing:
            try:
                stored = await self._windows.load(scope, now - self._forget, MAX_COUNTED)
            except StoreError:
                return 0
            return len(stored) + sum(each.scope == scope for each in self._pending)

    async def _write_later(self) -> None:
        while self._pending:
            await self._clock.sleep(FLUSH_SECONDS)
            async with self._storing:
                events, self._pending = self._pending, []
                try:
                    await self._windows.add(events)
                except StoreError as error:
                    log_failure(log, error, "failed log-ins were not told to the other processes")


def address_scope(address: str) -> str:
    """Return the scope of an address in the rate windows."""
    return f"login/{blake2b(address.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"
