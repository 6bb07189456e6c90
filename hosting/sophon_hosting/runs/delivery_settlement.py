"""Settlement of deliveries: what a worker tells the queue at the end of a turn."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from sophon.errors import StoreUnavailable
from sophon.failure_log import log_failure
from sophon.services import Services
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.queue.contract import Delivery, TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.runs.abnormal_termination import RunTerminator
from sophon_hosting.runs.active_runs import ActiveRun, ActiveRuns
from sophon_hosting.runs.lease_renewal import LeaseRenewal
from sophon_hosting.runs.recovery.given_up_runs import give_up_run
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import RunStore

log = logging.getLogger("sophon")

RETRY_SECONDS = 1.0
"""Time after which an entry is delivered again whose run waited, or was continued elsewhere; for the latter at least a
lease."""

T = TypeVar("T")

INITIAL_BACKOFF_SECONDS = 0.25

MAX_BACKOFF_SECONDS = 8.0
"""Back-off before a write, or a run without an outcome, is tried again; as for providers (Sophon's guide)."""


class DeliverySettlement:
    """Ends the deliveries of a worker: acked, given back with a delay, or left to the worker that has them now."""

    def __init__(
        self,
        services: Services,
        queue: TaskQueue,
        active_runs: ActiveRuns,
        terminator: RunTerminator,
        event_bus: EventBus,
        leases: LeaseRenewal,
    ) -> None:
        self._services, self._queue, self._active_runs = services, queue, active_runs
        self._terminator, self._event_bus, self._leases = terminator, event_bus, leases

    async def ack(self, active_run: ActiveRun, delivery: Delivery) -> None:
        """Ack the delivery of a run that has its outcome, whose lane becomes free, or that is suspended."""
        entry = delivery.entry
        if not active_run.is_suspended:
            await self._queue.release_lane(entry.session_id, entry.task_id)
        self._release(active_run, delivery)
        await self._queue.ack(delivery)

    async def give_back(self, active_run: ActiveRun, delivery: Delivery, *, is_counted: bool) -> None:
        """Give a run without an outcome back to the queue, which delivers it again after a back-off.

        What the run used is recorded before, and what it has staged is stored: the next start reads it. One whose lease
        was lost is another worker's, and one that is interrupted by a shutdown is delivered again at once.
        """
        await self._record_lost_usage(active_run)
        self._release(active_run, delivery)
        if active_run.is_elsewhere:
            await give_back(active_run, delivery, self._queue, host_store(self._services).runs)
            return
        if active_run.has_lost_lease:
            return
        delay_seconds = 0.0
        if not active_run.is_interrupted:
            delay_seconds = min(INITIAL_BACKOFF_SECONDS * 2 ** (delivery.delivery_count - 1), MAX_BACKOFF_SECONDS)
        result = await self._queue.nack(delivery, is_counted=is_counted, delay_seconds=delay_seconds)
        if result == "dead":
            runs, count = host_store(self._services).runs, delivery.delivery_count
            await write_until_stored(
                self._services, active_run, lambda: give_up_run(runs, self._terminator, active_run.task_id, count)
            )

    async def leave(self, delivery: Delivery, delay_seconds: float = INITIAL_BACKOFF_SECONDS) -> None:
        """End a delivery that could not be settled, so that a drain does not wait for it and its lane goes on.

        Each queue forgets it here even if its server cannot be reached; one that has ended already stays as it is.
        """
        try:
            await self._queue.nack(delivery, is_counted=False, delay_seconds=delay_seconds)
        except QueueUnavailable:
            pass
        except Exception as error:  # noqa: BLE001 - logged; its lease ends, and it is delivered again
            log_failure(log, error, "the queue entry of run %s could not be given back", delivery.entry.task_id)

    def _release(self, active_run: ActiveRun, delivery: Delivery) -> None:
        self._leases.held.pop(active_run, None)
        if self._queue.is_shared and not active_run.has_outcome:
            # Its next start may be another process's; this one would keep what it knows of it for ever.
            self._event_bus.forget_run(delivery.entry.session_id, delivery.entry.task_id)
        self._active_runs.remove(active_run)

    async def _record_lost_usage(self, active_run: ActiveRun) -> None:
        def record() -> Awaitable[None]:
            return self._terminator.record_lost_usage(active_run)

        try:
            if active_run.is_interrupted:
                await record()
            else:
                await write_until_stored(self._services, active_run, record)
        except Exception as error:  # noqa: BLE001 - logged; the delivery must be settled whatever happens here
            log_failure(log, error, "the usage of run %s could not be recorded", active_run.task_id)


async def give_back(active_run: ActiveRun, delivery: Delivery, queue: TaskQueue, runs: RunStore) -> None:
    """Give the entry back uncounted, to be delivered again later: then its run is over, or can begin. One that was
    changed since it was read can begin at once.

    The delivery of a stale start has mostly ended already, and nothing changes. Raises StoreError, QueueUnavailable.
    """
    entry, delay_seconds = delivery.entry, RETRY_SECONDS
    if active_run.is_outdated:
        log.info("run %s was changed after it was read, and is begun again", entry.task_id)
        delay_seconds = 0.0
    elif active_run.is_stale:
        log.info("run %s was continued elsewhere", entry.task_id)
        delay_seconds = max(delay_seconds, queue.lease_seconds or 0.0)
    else:
        log.info("run %s waits for run %s of its session", entry.task_id, active_run.waits_for)
        await queue.hold_lane(entry.session_id, active_run.waits_for)
        # Whoever ends the earlier run releases its lane afterwards: one that is over already does so no more.
        earlier = await runs.find(active_run.waits_for)
        if earlier is None or earlier.is_finished:
            await queue.release_lane(entry.session_id, active_run.waits_for)
    await queue.nack(delivery, is_counted=False, delay_seconds=delay_seconds)


async def write_until_stored(services: Services, active_run: ActiveRun, write: Callable[[], Awaitable[T]]) -> T:
    """Repeat a write until the store takes it; a shutdown interrupts the wait between two attempts."""
    backoff_seconds = INITIAL_BACKOFF_SECONDS
    while True:
        try:
            return await write()
        except StoreUnavailable:
            await _wait(active_run, host_store(services).health.wait_until_writable)
            await _wait(active_run, partial(services.clock.sleep, backoff_seconds))
        backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)


async def _wait(active_run: ActiveRun, wait: Callable[[], Awaitable[None]]) -> None:
    if active_run.is_interrupted:  # during the write: nobody cancels the wait
        raise asyncio.CancelledError
    active_run.is_waiting_for_store = True
    try:
        await wait()
    finally:
        active_run.is_waiting_for_store = False
