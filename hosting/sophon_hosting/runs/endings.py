"""The ends that a chain does not write itself: cancelled from outside, out of time, cut off, never begun."""

import asyncio
import logging

from sophon.approvals import Decision
from sophon.context import Context
from sophon.context.turn_log import LastEvents, TurnEnd
from sophon.errors import SophonError, StoreError
from sophon.events import Event, TaskCancelled, TaskCompleted, TaskFailed
from sophon.messages import Response
from sophon.pipeline import Pipeline
from sophon.services import Services
from sophon.stores.contracts import SessionRecord
from sophon.stores.run_contracts import Run
from sophon_hosting.approvals import resolution, task_of
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.runs.jobs import Job, Jobs
from sophon_hosting.runs.run_log import Outcomes
from sophon_hosting.runs.turns import turn_of
from sophon_middlewares.outer.session_events import SessionEvents, describe

log = logging.getLogger("sophon")

NO_LONGER = "the task has ended"


class Ended(SophonError):
    """Why a host ended a run as failed. `code`: `timeout`, `interrupted` or `gave_up`."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class Endings:
    """Writes each end through SessionEvents where the chain has it, so that it reads like any other; else the run's
    outcome and a note in the session. What was still to be decided is withdrawn.
    """

    def __init__(self, services: Services, chain: Pipeline, queue: TaskQueue, jobs: Jobs, outcomes: Outcomes) -> None:
        self._services, self._queue, self._jobs, self._outcomes = services, queue, jobs, outcomes
        self._recorder = next((each for each in chain if isinstance(each, SessionEvents)), None)

    async def cancel(self, job: Job) -> None:
        """It ends as cancelled, as somebody has asked. Raises StoreError."""
        job.cancel_wanted = True
        await self._end(job, asyncio.CancelledError())

    async def fail(self, job: Job, error: Exception) -> None:
        """It ends as failed. Raises StoreError."""
        await self._end(job, error)

    async def complete(self, job: Job, response: Response) -> None:
        """It ends with this response, which a chain without SessionEvents has given. Raises StoreError."""
        assert job.run is not None
        await self._outcomes.write(job, job.run, [], TurnEnd("completed", response, events=_says(_completed(response))))

    async def cancel_at_rest(self, run: Run) -> None:
        """End, as cancelled, a run that no worker has in hand. Raises StoreError."""
        await self._at_rest(run, asyncio.CancelledError())

    async def fail_at_rest(self, run: Run, error: Exception) -> None:
        """End, as failed, a run that no worker has in hand. Raises StoreError."""
        await self._at_rest(run, error)

    async def withdraw(self, run: Run) -> None:
        """Nobody is left to ask for: what is open of the run is rejected, and taken from the lists."""
        store, now = self._services.store, self._services.clock.now()
        for record in await store.approvals.list(session_id=run.session_id):
            if task_of(record.request) != run.id:
                continue
            kept = await store.approvals.decide(record.request.id, Decision.reject(NO_LONGER), now)
            self._services.events.emit(resolution(record.request, kept.decision or Decision.reject(NO_LONGER)))

    async def _at_rest(self, run: Run, error: BaseException) -> None:
        job = Job(run.id, run, cancel_wanted=isinstance(error, asyncio.CancelledError))
        self._jobs.add(job)
        try:
            await self._queue.remove(run.id)
            await self._end(job, error)
        finally:
            await self._queue.free(run.session_id, run.id)
            self._jobs.discard(job)

    async def _end(self, job: Job, error: BaseException) -> None:
        assert job.run is not None
        ctx = job.ctx or await self._turn(job.run)
        if ctx is not None and self._recorder is not None:
            await _through(self._recorder, ctx, error)
        if not job.concluded:
            await self._note(job, job.run, error)
        await self.withdraw(job.run)

    async def _turn(self, run: Run) -> Context | None:
        """The turn, once it was begun: before, its message is no part of the conversation, and stays none."""
        if not run.starts:
            return None
        try:
            return await turn_of(self._services, run)
        except StoreError:
            raise
        except SophonError as unreadable:
            log.warning("the turn of run %s cannot be taken up: %s", run.id, unreadable)
            return None

    async def _note(self, job: Job, run: Run, error: BaseException) -> None:
        if isinstance(error, Exception):
            failure = describe(error, run.id)
            record = SessionRecord("failed", run.id, data={**failure, "text": run.text})
            end = TurnEnd("failed", error=failure, events=_says(TaskFailed(error=failure)))
        else:
            record = SessionRecord("cancelled", run.id, data={"text": run.text})
            end = TurnEnd("cancelled", events=_says(TaskCancelled()))
        await self._outcomes.write(job, run, [record], end)


async def _through(recorder: SessionEvents, ctx: Context, error: BaseException) -> None:
    """Let SessionEvents see the turn end with this error, which it records and raises again."""
    if ctx.recorded:
        ctx.resumed = True

    async def ending(ctx: Context) -> None:
        raise error

    try:
        await recorder(ctx, ending)
    except (Exception, asyncio.CancelledError) as raised:
        if raised is not error:
            raise


def _completed(response: Response) -> TaskCompleted:
    return TaskCompleted(text=response.text, finish_reason=response.finish_reason, usage=response.usage, duration_ms=0)


def _says(event: Event) -> LastEvents:
    return lambda recorded: [event]
