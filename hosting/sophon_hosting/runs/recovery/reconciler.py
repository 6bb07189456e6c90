"""Reconciler: periodically compare unfinished runs in the store with the queue and apply what is missing."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from math import inf

from sophon.errors import NotFound
from sophon.failure_log import log_failure
from sophon.services import Services
from sophon_hosting.queue.contract import QueueEntry, TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.health import QueueHealth
from sophon_hosting.runs.abnormal_termination import RunTerminator
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.approvals.pending_questions import PendingQuestions
from sophon_hosting.runs.queue_entries import build_queue_entry, has_decision
from sophon_hosting.runs.recovery.given_up_runs import give_up_run
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import PendingRun, Run

log = logging.getLogger("sophon")

RECONCILE_INTERVAL_SECONDS = 5.0
"""Interval between two passes."""

BATCH_RUNS = 500
"""Number of runs about which the queue is asked at once."""

STUCK_SECONDS = 60.0
"""Time that a run waits in sight of this process before its lane is looked at, and between two looks at one session."""

EARLIER_RUNS = 20
"""Number of runs before the waiting one whose holds are released; the queue ignores those that hold nothing."""

MAX_SESSIONS = 20
"""Number of sessions looked at in one pass, so that a long queue costs few reads; the others follow in the next."""


class RunReconciler:
    """Periodic reconciliation; the store is the source of truth.

    It applies cancellations and decisions that another process wrote to the store, and enqueues runs that the queue has
    lost. It asks only for queued and signalled runs (see `RunStore.list_pending`): runs that wait for people cost
    nothing.

    Where processes share the queue, each of them reconciles, and what two of them apply is applied once. Such a process
    also asks for the runs that are running: one that the queue neither holds nor delivers has lost its delivery, and is
    enqueued as a `resume`; one that the queue has given up because its workers died fails. A run of another live
    process is left alone. While the queue cannot be reached, only cancellations are applied.
    """

    def __init__(
        self,
        services: Services,
        queue: TaskQueue,
        active_runs: ActiveRuns,
        terminator: RunTerminator,
        health: QueueHealth,
        held: PendingQuestions,
    ) -> None:
        self._services, self._queue, self._active_runs, self._terminator = services, queue, active_runs, terminator
        self._health, self._held = health, held
        self._stuck_lanes = StuckLanes(services, queue, health)

    async def run_forever(self) -> None:
        """Reconcile every `RECONCILE_INTERVAL_SECONDS`, until cancelled. A failed pass is logged and retried."""
        while True:
            await self._services.clock.sleep(RECONCILE_INTERVAL_SECONDS)
            try:
                await self.reconcile()
            except QueueUnavailable:
                continue  # `QueueHealth` has logged it
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "reconciling runs failed; the next attempt follows")

    async def reconcile(self) -> None:
        """Reconcile all runs once. Raises StoreError, QueueUnavailable."""
        if not self._health.is_available:
            with suppress(QueueUnavailable), self._health.watch():
                await self._queue.statistics()
        with suppress(QueueUnavailable):
            await self._terminator.release_lanes()
        await self._terminator.settle_usage()
        candidates: list[PendingRun] = await self._list_lost_candidates() if self._queue.is_shared else []
        # The running ones first: each comes before the queued ones of its session.
        seen = {candidate.id for candidate in candidates}
        candidates += [each for each in await host_store(self._services).runs.list_pending() if each.id not in seen]
        missing_ids: set[str] = set()
        for start in range(0, len(candidates), BATCH_RUNS):
            missing_ids |= await self._reconcile_batch(candidates[start : start + BATCH_RUNS])
        await self._give_up_dead_letters(candidates)
        if self._queue.is_shared and self._health.is_available:
            is_out = seen | missing_ids
            await self._stuck_lanes.release([run for run in candidates if not (run.is_signalled or run.id in is_out)])

    async def notice_signal(self, run_id: str) -> None:
        """Apply what another process has stored for a run that runs here: a cancellation, a decision. Raises
        StoreError.
        """
        active_run = self._active_runs.get(run_id)
        if active_run is None:
            return
        self._held.wake_run(run_id)
        store, agents = host_store(self._services), self._services.assistant.agents
        run = await store.runs.find(run_id)
        if run is not None and run.cancel_requested:
            active_run.cancel()
        for running in agents.running.list(task_id=run_id) if agents is not None else ():
            row = await store.sub_agents.find(running.id)
            if row is not None and row.cancel_requested:
                running.cancel()

    async def _list_lost_candidates(self) -> list[PendingRun]:
        """Return the running runs that are not this process's; any of them may have lost its delivery."""
        running = await host_store(self._services).runs.list_running()
        return [run for run in running if self._active_runs.get(run.id) is None]

    async def _reconcile_batch(self, batch: Sequence[PendingRun]) -> set[str]:
        """Reconcile runs; return the ids of those that the queue did not have."""
        missing_ids: set[str] = set()
        with suppress(QueueUnavailable), self._health.watch():
            missing_ids = {each.task_id for each in await self._queue.find_missing(_to_entries(batch))}
        for candidate in batch:
            is_missing = candidate.id in missing_ids and self._active_runs.get(candidate.id) is None
            if not (candidate.is_signalled or is_missing):
                continue
            run = await host_store(self._services).runs.find(candidate.id)
            if run is not None and not run.is_finished:
                await self._reconcile_run(run, is_missing=is_missing)
        return missing_ids

    async def _reconcile_run(self, run: Run, *, is_missing: bool) -> None:
        active_run = self._active_runs.get(run.id)
        is_elsewhere = run.status == "running" and self._queue.is_shared
        if active_run is not None:
            if run.cancel_requested:
                active_run.cancel()
        elif run.cancel_requested and not is_elsewhere:
            await self._terminator.cancel_inactive(run)
        elif not is_missing:
            return
        elif run.status == "queued":
            await self._put(build_queue_entry(run), force=True)
        elif is_elsewhere:
            log.warning("run %s has lost its delivery; it is enqueued again", run.id)
            await self._put(build_queue_entry(run, "resume"))
        elif run.status == "suspended" and await has_decision(host_store(self._services), run):
            await self._put(build_queue_entry(run, "resume"))

    async def _give_up_dead_letters(self, candidates: Sequence[PendingRun]) -> None:
        """Fail the runs whose workers died so often that the queue has given them up: none of them could say so."""
        if self._queue.is_shared and not candidates:
            return
        with self._health.watch():
            if not (await self._queue.statistics()).dead:
                return
            letters = await self._queue.list_dead_letters()
        if not self._queue.is_shared:  # one whose failure could not be recorded when it was given up
            candidates = [*candidates, *await self._list_lost_candidates()]
        ids, runs = {candidate.id for candidate in candidates}, host_store(self._services).runs
        for letter in letters:
            if letter.entry.task_id in ids and self._active_runs.get(letter.entry.task_id) is None:
                await give_up_run(runs, self._terminator, letter.entry.task_id, letter.delivery_count)

    async def _put(self, entry: QueueEntry, *, force: bool = False) -> None:
        with self._health.watch():
            await self._queue.put(entry, force=force)


def _to_entries(batch: Sequence[PendingRun]) -> list[QueueEntry]:
    return [build_queue_entry(each) for each in batch]


class StuckLanes:
    """Watches how long runs have waited and releases the lanes that finished runs still hold.

    The first unfinished run of a session cannot wait for another run, only for a worker. To release the hold of a run
    that has ended is always right, so a run that merely waits for a worker costs a look and changes nothing.

    That happens when the queue's server was restored from an older copy, when the process that recorded an outcome was
    killed before it released the lane, or when it was restarted while the queue was away.
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
            earlier = await host_store(self._services).runs.list(
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
