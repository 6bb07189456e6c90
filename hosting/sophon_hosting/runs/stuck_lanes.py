"""Stuck lanes: a shared queue may hold a lane for a run that has ended, and nobody else would ever release it.

That happens when the queue's server was restored from an older copy, when the process that recorded an outcome was
killed before it released the lane, or when it was restarted while the queue was away.
"""

import logging
from collections.abc import Sequence
from itertools import islice
from math import inf

from sophon.errors import NotFound
from sophon.services import Services
from sophon.stores.runs.contract import PendingRun
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.health import QueueHealth

log = logging.getLogger("sophon")

STUCK_SECONDS = 60.0
"""Time that a run waits in sight of this process before its lane is looked at, and between two looks at one session."""

EARLIER_RUNS = 20
"""Number of runs before the waiting one whose holds are released; the queue ignores those that hold nothing."""

MAX_SESSIONS = 20
"""Number of sessions looked at in one pass, so that a long queue costs few reads; the others follow in the next."""


class StuckLanes:
    """Watches how long runs have waited and releases the lanes that finished runs still hold.

    The first unfinished run of a session cannot wait for another run, only for a worker. To release the hold of a run
    that has ended is always right, so a run that merely waits for a worker costs a look and changes nothing.
    """

    def __init__(self, services: Services, queue: TaskQueue, health: QueueHealth) -> None:
        self._services, self._queue, self._health = services, queue, health
        self._since: dict[str, float] = {}
        """Monotonic times at which waiting runs were seen first."""
        self._looked_at: dict[str, float] = {}
        """Monotonic times of the last looks at sessions."""

    async def release(self, waiting: Sequence[PendingRun]) -> None:
        """Release the lanes of those that have waited too long. `waiting`: all queued runs that the queue has, in order
        of acceptance.

        Raises StoreError, QueueUnavailable.
        """
        now = self._services.clock.monotonic()
        self._since = {run.id: self._since.get(run.id, now) for run in waiting}
        sessions = {run.session_id for run in waiting}
        self._looked_at = {each: at for each, at in self._looked_at.items() if each in sessions}
        first_waiting: dict[str, PendingRun] = {}
        for run in waiting:
            if now - self._since[run.id] > STUCK_SECONDS:
                first_waiting.setdefault(run.session_id, run)
        due = (run for run in first_waiting.values() if now - self._looked_at.get(run.session_id, -inf) > STUCK_SECONDS)
        for run in list(islice(due, MAX_SESSIONS)):
            self._looked_at[run.session_id] = now
            await self._release_lane_of(run)

    async def _release_lane_of(self, waiting: PendingRun) -> None:
        session_id = waiting.session_id
        try:
            earlier = await self._services.store.runs.list(
                session_id=session_id, limit=EARLIER_RUNS, whole=False, before=waiting.id
            )
        except NotFound:  # its session was deleted meanwhile
            return
        if not all(run.is_finished for run in earlier):
            return  # one that waits, runs or was suspended has the lane
        for run in earlier:
            with self._health.watch():
                is_released = await self._queue.release_lane(session_id, run.id)
            if is_released:
                log.warning("the lane of session %s was held for run %s, which has ended", session_id, run.id)
                return
