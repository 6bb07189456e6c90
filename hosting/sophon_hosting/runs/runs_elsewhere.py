"""Deliveries of runs that end later: of starts that were continued elsewhere, and of runs that wait for another."""

import logging

from sophon.stores.runs.contract import RunStore
from sophon_hosting.queue.contract import Delivery, TaskQueue
from sophon_hosting.runs.active_runs import ActiveRun

log = logging.getLogger("sophon")

RETRY_SECONDS = 1.0
"""Time after which an entry is delivered again whose run waited, or was continued elsewhere; for the latter at least a
lease."""


async def give_back(active_run: ActiveRun, delivery: Delivery, queue: TaskQueue, runs: RunStore) -> None:
    """Give the entry back uncounted, to be delivered again later: then its run is over, or can begin.

    The delivery of a stale start has mostly ended already, and nothing changes. Raises StoreError, QueueUnavailable.
    """
    entry, delay_seconds = delivery.entry, RETRY_SECONDS
    if active_run.is_stale:
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
