"""Graceful shutdown of the worker: drain the queue within a grace period, then interrupt the runs that are left."""

import logging

from sophon.clock import Clock
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.runs.active_runs import ActiveRuns

log = logging.getLogger("sophon")

SHUTDOWN_GRACE_SECONDS = 30.0
"""Grace period of running turns at shutdown."""

REQUEST_SHUTDOWN_TIMEOUT_SECONDS = 2.0
"""Time limit of open HTTP requests at shutdown, so that a slow upload cannot block it."""


async def drain_or_interrupt(queue: TaskQueue, active_runs: ActiveRuns, clock: Clock, grace_seconds: float) -> None:
    """Pause the queue, wait at most `grace_seconds` for running turns, then interrupt the rest and wait for them.

    An interrupted run keeps its checkpoint and resumes at the next start.
    """
    try:
        async with clock.timeout(grace_seconds):
            await queue.drain()
    except TimeoutError:
        log.warning("%d running turns are interrupted and resume at the next start", len(active_runs))
    for active_run in active_runs:
        active_run.interrupt()
    for active_run in active_runs:
        await active_run.released.wait()
