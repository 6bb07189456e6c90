"""Store monitor: finds out whether the store can be written, and when it can be written again."""

import asyncio
import logging

from sophon.clock import Clock
from sophon.failure_log import log_failure
from sophon.stores.maintenance import StoreSpace
from sophon_hosting.store.contract import HostStore

log = logging.getLogger("sophon")

RECOVERY_INTERVAL_SECONDS = 1.0
"""Interval between two probes while the store is unavailable."""

SPACE_INTERVAL_SECONDS = 10.0
"""Interval between two measurements of the free space while the store is available."""

CHECK_INTERVAL_SECONDS = 5.0
"""How long `check` returns the result of the last probe."""


class StoreMonitor:
    """Watches one store: writes nothing while it is available, except for `check`; probes it while it is not.

    Its results go to the store's health, which decides whether messages are accepted and turns start.
    """

    def __init__(self, store: HostStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._last_probe = float("-inf")
        self._probe_lock = asyncio.Lock()
        self.space: StoreSpace | None = None
        """The last measurement."""

    async def run_forever(self) -> None:
        """Measure the free space, and probe while the store is unavailable, until cancelled."""
        while True:
            try:
                await self._probe() if not self._store.health.is_available else await self._measure()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "checking the store failed; the next attempt follows")
            await self._wait()

    async def check(self) -> None:
        """Raise StoreUnavailable unless the store can be written; at most one probe per `CHECK_INTERVAL_SECONDS`."""
        async with self._probe_lock:
            if self._clock.monotonic() - self._last_probe >= CHECK_INTERVAL_SECONDS:
                await self._probe()
        self._store.health.check()

    async def _probe(self) -> None:
        """Measure first: a full disk may still take a small write."""
        await self._measure()
        if self._store.health.kind not in ("damaged", "reserve"):
            await self._store.maintenance.probe()
        self._last_probe = self._clock.monotonic()

    async def _measure(self) -> None:
        self.space = await self._store.maintenance.measure_space()

    async def _wait(self) -> None:
        """Wait for the next turn; a store that becomes unavailable is probed soon."""
        if not self._store.health.is_available:
            await self._clock.sleep(RECOVERY_INTERVAL_SECONDS)
            return
        try:
            async with self._clock.timeout(SPACE_INTERVAL_SECONDS):
                await self._store.health.wait_for_change()
        except TimeoutError:
            return
