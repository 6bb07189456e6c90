"""Deletion of a session: its tasks are cancelled and have ended, and nothing of it goes on under its id."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from sophon.errors import SophonError
from sophon.goals.goal import WORK_SESSION_PREFIX, Goal
from sophon.goals.goal_writer import GoalWriter
from sophon.services import Services
from sophon.stores.runs.contract import Run
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.session_gate import SessionGate

RELEASE_TIMEOUT_SECONDS = 1.0
"""How long a deletion waits for a worker to release a run that has its outcome."""


class Busy(SophonError):
    """Error: a running turn blocks the operation; retry when the turn has ended (code `busy`)."""

    code = "busy"


class SessionDeletion:
    """Deletes sessions of a host. `cancel` is `Host.cancel`; messages are accepted under the gate."""

    def __init__(
        self,
        services: Services,
        event_bus: EventBus,
        active_runs: ActiveRuns,
        queue: TaskQueue,
        cancel: Callable[[str], Awaitable[Run]],
    ) -> None:
        self._services, self._event_bus, self._active_runs, self._cancel = services, event_bus, active_runs, cancel
        self._queue = queue
        self.gate = SessionGate()

    async def delete(self, session_id: str) -> None:
        """Cancel the session's tasks, delete the session and end all subscriptions to it. Raises NotFound, Busy."""
        store = self._services.store
        await self._delete_goals(session_id)
        async with self.gate.deleting(session_id):
            while unfinished := await store.runs.list_unfinished(session_id):
                for run in unfinished:
                    if not (await self._cancel(run.id)).is_finished:
                        raise _busy(run)
            await self._wait_for_workers(session_id)
            await self._event_bus.delete_session(session_id, store.sessions.delete)
            self._forget_routes(session_id)
            for letter in await self._queue.list_dead_letters():
                if letter.entry.session_id == session_id:
                    await self._queue.remove(letter.entry.task_id)

    async def _delete_goals(self, session_id: str) -> None:
        """Delete the sessions in which the goals of a chat or of a session of work run, before that itself.

        Each goal is cancelled first, so that none of its steps starts any more.
        """
        goals = self._services.store.goals
        worked_in = await goals.find(session_id.removeprefix(f"{WORK_SESSION_PREFIX}-"))
        is_work_session = worked_in is not None and worked_in.work_session_id == session_id
        own = [worked_in] if worked_in is not None and is_work_session else []
        for goal in [*own, *await goals.list(session_id=session_id, limit=1000)]:
            await self._end(goal)
            for each in goal.list_work_sessions():
                if each != session_id and await self._services.store.sessions.find(each) is not None:
                    await self.delete(each)

    async def _end(self, goal: Goal) -> None:
        """Cancel a goal that is about to be deleted, whoever else changes it meanwhile."""
        store, writer = self._services.store, GoalWriter(self._services.store.goals, self._event_bus)
        found: Goal | None = goal
        while found is not None and found.is_live:
            ended = found.move("cancel", "its session is deleted", self._services.clock.now())
            if await writer.change(replace(ended, reported=True)) is not None:
                return
            found = await store.goals.find(goal.id)

    def _forget_routes(self, session_id: str) -> None:
        """Forget the routes of the session's messages, which the store has deleted with it."""
        policies = self._services.policies
        if policies is not None:
            policies.forget(session_id=session_id)

    async def _wait_for_workers(self, session_id: str) -> None:
        """Wait until the workers have emitted the last events of the session's runs, which follow their outcomes."""
        for active_run in self._active_runs:
            if active_run.run is not None and active_run.run.session_id == session_id:
                try:
                    async with self._services.clock.timeout(RELEASE_TIMEOUT_SECONDS):
                        await active_run.released.wait()
                except TimeoutError:
                    raise _busy(active_run.run) from None


def _busy(run: Run) -> Busy:
    return Busy(f"task {run.id!r} is still stopping; delete the session when it has ended")
