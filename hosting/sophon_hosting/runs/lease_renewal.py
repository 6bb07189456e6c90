"""Renewal of the leases of deliveries while a worker runs their turns."""

import asyncio
import logging

from sophon.clock import Clock
from sophon.failure_log import log_failure
from sophon_hosting.queue.contract import Delivery, TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.health import QueueHealth
from sophon_hosting.runs.active_runs import ActiveRun

log = logging.getLogger("sophon")

RENEWALS_PER_LEASE = 3
"""How often a lease is renewed while it lasts, so that one failed attempt does not lose it."""


class LeaseRenewal:
    """Renews the leases of the deliveries in work every third of a lease, independently of what their turns do.

    A turn whose lease was lost is interrupted at its next await and leaves no outcome: another worker has the task. A
    queue that cannot be reached stops no turn: nobody else can take the task from it either, and if somebody has, the
    store refuses the writes of the older start.
    """

    def __init__(self, queue: TaskQueue, clock: Clock, health: QueueHealth) -> None:
        self._queue, self._clock, self._health = queue, clock, health
        self.held: dict[ActiveRun, Delivery] = {}
        """Deliveries in work, each until it is about to be acked or given back."""
        lease_seconds = queue.lease_seconds
        self.interval_seconds = None if lease_seconds is None else lease_seconds / RENEWALS_PER_LEASE
        """Interval of the renewals; None for a queue without leases."""

    async def run_forever(self) -> None:
        """Renew until cancelled; returns at once for a queue without leases."""
        interval = self.interval_seconds
        if interval is None:
            return
        while True:
            await self._clock.sleep(interval)
            await self.renew_all(interval / 2)

    async def renew_all(self, timeout_seconds: float) -> None:
        """Renew all leases once, concurrently, each for at most `timeout_seconds`."""
        await asyncio.gather(*(self._renew(*each, timeout_seconds) for each in list(self.held.items())))

    async def _renew(self, active_run: ActiveRun, delivery: Delivery, timeout_seconds: float) -> None:
        try:
            async with self._clock.timeout(timeout_seconds):
                with self._health.watch():
                    is_renewed = await self._queue.renew(delivery)
        except (QueueUnavailable, TimeoutError):
            return
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(log, error, "the lease of run %s could not be renewed", active_run.task_id)
            return
        if not is_renewed and self.held.get(active_run) is delivery:
            log.warning("run %s is stopped here: its lease was lost, another worker runs it", active_run.task_id)
            active_run.lose_lease()
