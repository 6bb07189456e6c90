"""Goal writer: stores a new or changed goal together with the event that reports it, so that a kill loses neither."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sophon.clock import Clock
from sophon.errors import ChangedMeanwhile
from sophon_hosting.events.event_committer import EventCommitter
from sophon_hosting.events.session_transactions import BuildRows
from sophon_hosting.features.goals.events import GoalChanged
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.task_node import TaskNode

if TYPE_CHECKING:
    # Named only: clients of a host import the operations, and load no SQLAlchemy.
    from sophon_hosting.features.goals.store import GoalStore, GoalWrite


class GoalWriter:
    """Writes goals with their events. Without a log, as of a chat that does not exist, a change has no event."""

    def __init__(self, goals: "GoalStore", events: EventCommitter) -> None:
        self._goals, self._events = goals, events

    async def add(self, goal: Goal, *, most_live: int | None = None) -> Goal | None:
        """Add a goal as `GoalStore.add` does, with its event."""
        return await self._commit(goal, lambda rows: self._goals.add_with_events(goal, rows, most_live=most_live))

    async def change(self, goal: Goal, *, step: str = "", step_status: str = "") -> Goal | None:
        """Change a goal as `GoalStore.change` does, with its event."""
        return await self._commit(
            goal, lambda rows: self._goals.change_with_events(goal, rows), step=step, step_status=step_status
        )

    async def _commit(
        self,
        goal: Goal,
        store: Callable[[Callable[[Goal], Sequence[Any]]], "Awaitable[GoalWrite]"],
        *,
        step: str = "",
        step_status: str = "",
    ) -> Goal | None:
        async def write(build_rows: BuildRows) -> tuple[Goal | None, int | None]:
            result = await store(lambda new: build_rows([build_event(new, step=step, step_status=step_status)]))
            return result.goal, result.seq

        return await self._events.commit_events(goal.report_session_id, write)


class GoalSaver:
    """Saves goals, each as a change of the version that was read."""

    def __init__(self, goals: "GoalStore", events: EventCommitter, clock: Clock) -> None:
        self._goals, self._clock = goals, clock
        self._writer = GoalWriter(goals, events)

    async def save(self, goal: Goal, before: Goal, *, step: TaskNode | None = None) -> Goal:
        """Store a change, with the event of a transition or of a step. Raises ChangedMeanwhile, StoreError."""
        new = replace(goal, version=before.version, updated_at=self._clock.now())
        if step is not None:
            changed = await self._writer.change(new, step=step.id, step_status=step.status)
        elif (new.state, new.pause_kind) != (before.state, before.pause_kind):
            changed = await self._writer.change(new)
        else:
            changed = await self._goals.change(new)
        if changed is None:
            raise ChangedMeanwhile("goal", goal.id)
        return changed


def build_event(goal: Goal, *, step: str = "", step_status: str = "") -> GoalChanged:
    """Return the event of a change, for the chat that the goal reports to."""
    return GoalChanged(
        session_id=goal.report_session_id,
        goal_id=goal.id,
        state=goal.state,
        reason=goal.reason,
        title=goal.title,
        progress=goal.progress,
        step=step,
        step_status=step_status,
    )
