"""Termination of runs outside the chain: cancellation, timeout, interruption, and runs that never started."""

import asyncio
import logging
from collections import deque
from contextlib import suppress

from sophon.chain.pipeline import Pipeline
from sophon.context import Context
from sophon.context.turn_log import TurnEnd, TurnEvents
from sophon.errors import SophonError, StoreError
from sophon.events import Event, TaskCancelled, TaskCompleted, TaskFailed
from sophon.messages import Response
from sophon.services import Services
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.health import QueueHealth
from sophon_hosting.runs.active_runs import ActiveRun, ActiveRuns
from sophon_hosting.runs.outcomes import OutcomeWriter
from sophon_hosting.runs.turn_factory import build_turn
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import OutdatedRun, Run
from sophon_middlewares.outer.session_events.session_events import SessionEvents, error_to_json

log = logging.getLogger("sophon")

MAX_UNRELEASED_LANES = 1000
"""Number of lanes whose release is repeated when the queue can be reached again."""


class RunAborted(SophonError):
    """Error: the host aborted a run. `code` is `timeout`, `interrupted` or `gave_up`."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def interrupted_error() -> RunAborted:
    """Return the error of a run that was interrupted with its process and is not resumed."""
    return RunAborted("interrupted", "the host stopped while this task was running")


class RunTerminator:
    """Writes the outcome of runs that the chain did not finish.

    If the chain contains SessionEvents, the outcome is recorded through it, like any other; otherwise as the run's
    outcome and a session record.
    """

    def __init__(
        self,
        services: Services,
        chain: Pipeline,
        queue: TaskQueue,
        active_runs: ActiveRuns,
        outcome_writer: OutcomeWriter,
        event_bus: EventBus,
        health: QueueHealth,
    ) -> None:
        self._event_bus, self._health = event_bus, health
        self._unreleased: deque[tuple[str, str]] = deque(maxlen=MAX_UNRELEASED_LANES)
        """Sessions and tasks that have ended while the queue could not be reached."""
        self._services, self._queue, self._active_runs, self._outcome_writer = (
            services,
            queue,
            active_runs,
            outcome_writer,
        )
        self._recorder = next((middleware for middleware in chain if isinstance(middleware, SessionEvents)), None)

    async def cancel(self, active_run: ActiveRun) -> None:
        """Record the run as cancelled. Raises StoreError."""
        active_run.is_cancel_requested = True
        await self._terminate(active_run, asyncio.CancelledError())

    async def fail(self, active_run: ActiveRun, error: Exception) -> None:
        """Record the run as failed. Raises StoreError."""
        await self._terminate(active_run, error)

    async def complete(self, active_run: ActiveRun, response: Response) -> None:
        """Record the run as completed with the response of a chain without SessionEvents. Raises StoreError."""
        assert active_run.run is not None
        await self._outcome_writer.write(
            active_run,
            active_run.run,
            [],
            TurnEnd("completed", response, events=_single_event(_completed_event(response))),
        )

    async def write_held_outcome(self, active_run: ActiveRun) -> None:
        """Write the outcome that the run holds. Raises StoreUnavailable, and the run still holds it."""
        if active_run.held_outcome is not None and active_run.run is not None:
            held = active_run.held_outcome
            await self._outcome_writer.write(active_run, active_run.run, held.records, held.turn_end)

    async def record_lost_usage(self, active_run: ActiveRun) -> None:
        """Write what a run that is tried again used since its checkpoint. Raises StoreError."""
        await self._outcome_writer.record_lost_usage(active_run)

    def keep_usage(self, active_run: ActiveRun) -> None:
        """Keep on disk the usage of a run that ends here without an outcome and that the store does not have."""
        self._outcome_writer.keep_usage(active_run)

    async def settle_usage(self) -> None:
        """End the reservations of turns that could not wait for the store. Raises StoreError."""
        unsettled = self._active_runs.unsettled
        while unsettled:
            await unsettled[0]()
            unsettled.popleft()

    async def cancel_inactive(self, run: Run) -> None:
        """Record as cancelled a run that no worker is running. Raises StoreError.

        Where processes share the queue, one that another of them has begun meanwhile gets no outcome here. While the
        queue cannot be reached it is not asked, because its answer may take long; an entry that it delivers later is
        that of a run that is over.
        """
        if self._health.is_available:
            with suppress(QueueUnavailable), self._health.watch():
                await self._queue.remove(run.id)
        await self._terminate_inactive(run, asyncio.CancelledError(), unless_running=self._queue.is_shared)

    async def fail_inactive(self, run: Run, error: Exception) -> None:
        """Record as failed a run that no worker is running; the dead letter of one that was given up stays.

        Raises StoreError.
        """
        await self._terminate_inactive(run, error)

    async def release_lanes(self) -> None:
        """Release the lanes of runs that ended while the queue could not be reached. Raises QueueUnavailable."""
        while self._unreleased:
            with self._health.watch():
                await self._queue.release_lane(*self._unreleased[0])
            self._unreleased.popleft()

    async def _terminate_inactive(
        self, run: Run, error: Exception | asyncio.CancelledError, *, unless_running: bool = False
    ) -> None:
        if self._active_runs.get(run.id) is not None:
            return  # taken since the caller looked; a cancellation and the reconciler look again
        active_run = ActiveRun(run.id, run, is_cancel_requested=isinstance(error, asyncio.CancelledError))
        active_run.unless_running = unless_running
        is_outdated = False
        self._active_runs.add(active_run)
        try:
            await self._terminate(active_run, error)
            await self.write_held_outcome(active_run)
        except OutdatedRun:  # another process has begun it since the caller has read it
            is_outdated = True
        finally:
            if active_run.has_outcome:
                await self._release_lane(run.session_id, run.id)
            elif self._queue.is_shared:
                self._event_bus.forget_run(run.session_id, run.id)
            self._active_runs.remove(active_run)
        if is_outdated and (changed := await host_store(self._services).runs.find(run.id)) is not None:
            await self._terminate_inactive(changed, error, unless_running=unless_running)

    async def _release_lane(self, session_id: str, task_id: str) -> None:
        if not self._health.is_available:  # the reconciler asks when it is back
            self._unreleased.append((session_id, task_id))
            return
        try:
            with self._health.watch():
                await self._queue.release_lane(session_id, task_id)
        except QueueUnavailable:
            self._unreleased.append((session_id, task_id))

    async def _terminate(self, active_run: ActiveRun, error: Exception | asyncio.CancelledError) -> None:
        assert active_run.run is not None
        active_run.may_have_asked = True  # an earlier start of it, perhaps of another process
        ctx = active_run.ctx or await self._restore_turn(active_run.run)
        if ctx is not None and self._recorder is not None:
            if ctx.recorded:
                ctx.resumed = True
            await self._recorder.record_end(ctx, error)
        if active_run.is_outdated:  # who reads it again ends it
            raise OutdatedRun(active_run.task_id)
        if not active_run.has_outcome and active_run.held_outcome is None:
            await self._record_outcome(active_run, active_run.run, error)

    async def _restore_turn(self, run: Run) -> Context | None:
        """Return the turn of a started run; the message of a run that never started is not part of the session."""
        if not run.starts:
            return None
        if self._queue.is_shared:  # another process may have told that it began
            await self._event_bus.load_run_events(run)
        try:
            return await build_turn(self._services, run)
        except StoreError:
            raise
        except SophonError as restore_error:
            log.warning("the turn of run %s cannot be restored: %s", run.id, restore_error)
            return None

    async def _record_outcome(self, active_run: ActiveRun, run: Run, error: Exception | asyncio.CancelledError) -> None:
        if isinstance(error, Exception):
            error_payload = error_to_json(error, run.id)
            record = SessionRecord("failed", run.id, data={**error_payload, "text": run.text})
            turn_end = TurnEnd("failed", error=error_payload, events=_single_event(TaskFailed(error=error_payload)))
        else:
            record = SessionRecord("cancelled", run.id, data={"text": run.text})
            turn_end = TurnEnd("cancelled", events=_single_event(TaskCancelled()))
        await self._outcome_writer.write(active_run, run, [record], turn_end)


def _completed_event(response: Response) -> TaskCompleted:
    return TaskCompleted(
        text=response.full_text,
        finish_reason=response.finish_reason,
        usage=response.usage,
        duration_ms=0,
        tool_rounds=response.tool_rounds,
        fallback_attempts=response.fallback_attempts,
        model=response.model,
    )


def _single_event(event: Event) -> TurnEvents:
    return lambda last_record_seq: [event]
