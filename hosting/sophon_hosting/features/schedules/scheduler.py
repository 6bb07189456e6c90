"""Scheduler: one task that sleeps until the next schedule is due, and fires it."""

import asyncio
import logging
from typing import Any, Final

from sophon.failure_log import log_failure
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.features.schedules.firing import CheckOwner, ScheduleFiring
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.host import Host
from sophon_hosting.store.contract import host_store

log = logging.getLogger("sophon")

MAX_BATCH: Final = 100
"""Schedules that are read at once."""

POLL_SECONDS: Final = 30.0
"""How often schedules are looked for that other processes have made: one query."""
RETRY_SECONDS: Final = 5.0
MIN_WAIT_SECONDS: Final = 0.01
"""Shortest wait: the system's time, which decides what is due, and the timer's may differ a little."""


class Scheduler:
    """Fires the schedules of a host's store. No timer per schedule: the store knows which one is next.

    Changes by this process wake it; those of others are found every `POLL_SECONDS`. Of several processes the leader
    of `schedules` fires; two that fire at the same time start one run, too: see `ScheduleFiring`.
    """

    def __init__(self, host: Host, check_owner: CheckOwner) -> None:
        self._leadership = host.membership.leadership
        self._clock, self._health = host.services.clock, host_store(host.services).health
        self._store, self._firing = stored_schedules(host_store(host.services)), ScheduleFiring(host, check_owner)
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._store.watch(self._changed.set)

    def start(self) -> None:
        """Begin to fire; the host must have started."""
        self._task = asyncio.create_task(self._leadership.lead("schedules", self.run_forever))

    async def stop(self) -> None:
        """Fire nothing any more. A run that is being accepted is accepted."""
        await end_tasks(self._task)
        self._task = None

    async def run_forever(self) -> None:
        """Fire what is due, and sleep until the next time, until cancelled; while the store is unavailable, wait."""
        while True:
            await self._health.wait_until_available()
            self._changed.clear()
            try:
                wait_seconds = await self.fire_due()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "firing schedules failed; the next attempt follows")
                wait_seconds = RETRY_SECONDS
                self._changed.clear()
            await self._wait(wait_seconds)

    async def fire_due(self) -> float:
        """Fire all schedules whose time has come; return how many seconds nothing is due."""
        while due := await self._store.list_due(self._clock.now(), MAX_BATCH):
            for schedule in due:
                await self._fire(schedule)
        next_at = await self._store.find_next_wake()
        if next_at is None:
            return POLL_SECONDS
        remaining = (next_at - self._clock.now()).total_seconds()
        return min(max(remaining, MIN_WAIT_SECONDS), POLL_SECONDS)

    async def _fire(self, schedule: Schedule) -> None:
        await self._firing.fire(schedule)

    async def _wait(self, seconds: float) -> None:
        """Sleep, at most until a schedule has changed."""
        sleep, change = self._clock.sleep(seconds), self._changed.wait()
        waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(sleep), asyncio.ensure_future(change)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_tasks(*waiting)
