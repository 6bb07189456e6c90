"""Graceful shutdown of the worker: drain the queue within a grace period, then interrupt the runs that are left."""

import logging

from sophon.clock import Clock
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.runs.active_runs import ActiveRuns

log = logging.getLogger("sophon")

SHUTDOWN_GRACE_SECONDS = 30.0
"""Grace period of running turns at shutdown."""

INTERRUPTION_SECONDS = 5.0
"""Time that an interrupted turn has to end. One that takes longer has a tool that swallows its cancellation."""

REQUEST_SHUTDOWN_TIMEOUT_SECONDS = 2.0
"""Time limit of open HTTP requests at shutdown, so that a slow upload cannot block it."""


async def drain_or_interrupt(queue: TaskQueue, active_runs: ActiveRuns, clock: Clock, grace_seconds: float) -> None:
    """Pause the queue, wait at most `grace_seconds` for running turns, then interrupt the rest and wait for them.

    An interrupted run keeps its checkpoint and resumes at the next start. One that does not end within
    `INTERRUPTION_SECONDS` is left as it is, as by a kill: nothing can stop a coroutine that does not want to end.
    """
    try:
        async with clock.timeout(grace_seconds):
            await queue.drain()
    except TimeoutError:
        log.warning("%d running turns are interrupted and resume at the next start", len(active_runs))
    for active_run in active_runs:
        active_run.interrupt()
    try:
        async with clock.timeout(INTERRUPTION_SECONDS):
            for active_run in active_runs:
                await active_run.released.wait()
    except TimeoutError:
        for active_run in active_runs:
            log.warning("run %s does not end: a tool swallows its cancellation; it is left behind", active_run.task_id)
