"""Deletion of goals: each ends first, and is deleted with the sessions that it works in."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon_hosting.background_tasks import complete
from sophon_hosting.events.event_committer import EventCommitter
from sophon_hosting.features.goals.goal_writer import GoalWriter
from sophon_hosting.features.goals.rules.goal import WORK_SESSION_PREFIX, Goal

if TYPE_CHECKING:
    from sophon_hosting.features.goals.store import GoalStore

MAX_GOALS = 1000
"""Goals of one chat that are deleted with it; the store deletes the rows of all."""


class GoalDeletion:
    """Deletes goals, and ends those of a session that is being deleted."""

    def __init__(self, goals: "GoalStore", events: EventCommitter, clock: Clock) -> None:
        self._goals, self._clock = goals, clock
        self._writer = GoalWriter(goals, events)

    async def delete(self, goal: Goal, delete_session: Callable[[str], Awaitable[None]]) -> None:
        """Cancel a goal and delete it with the sessions that it works in; its chat keeps its reports. Raises Busy.

        Goals are deleted with their session of work, in one transaction. Completes even if the caller is cancelled.
        """
        await complete(self._delete(goal, delete_session))

    async def _delete(self, goal: Goal, delete_session: Callable[[str], Awaitable[None]]) -> None:
        await self._end(goal)
        with suppress(NotFound):  # an older host has deleted the session alone
            await delete_session(goal.work_session_id)
        await self._goals.remove(goal.id)

    async def end(self, session_id: str) -> AsyncIterator[str]:
        """See `SessionWork.end`. Each goal is ended first, so that none of its steps starts any more, nor its report.

        The goals are those of a chat, or the one whose session of work it is.
        """
        worked_in = await self._goals.find(session_id.removeprefix(f"{WORK_SESSION_PREFIX}-"))
        is_work_session = worked_in is not None and worked_in.work_session_id == session_id
        own = [worked_in] if worked_in is not None and is_work_session else []
        for goal in [*own, *await self._goals.list(session_id=session_id, limit=MAX_GOALS)]:
            await self._end(goal)
            for each in goal.list_work_sessions():
                if each != session_id:
                    yield each

    async def _end(self, goal: Goal) -> None:
        """Cancel a goal that is about to be deleted, and let no report follow, whoever else changes it meanwhile."""
        found: Goal | None = goal
        while found is not None and (found.is_live or not found.reported):
            ended = replace(found, reported=True)
            if found.is_live:
                ended = ended.move("cancel", "its session is deleted", self._clock.now())
                changed = await self._writer.change(ended)
            else:
                changed = await self._goals.change(ended)
            found = None if changed is not None else await self._goals.find(goal.id)
