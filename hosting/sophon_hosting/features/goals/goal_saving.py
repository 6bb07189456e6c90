"""Saving of a goal: one change of the version that was read, with the event of a transition or of a step."""

from dataclasses import replace
from typing import TYPE_CHECKING

from sophon.clock import Clock
from sophon.errors import ChangedMeanwhile
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.features.goals.goal_writer import GoalWriter
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.task_node import TaskNode

if TYPE_CHECKING:
    from sophon_hosting.features.goals.store import GoalStore


class GoalSaver:
    """Saves goals, each as a change of the version that was read."""

    def __init__(self, goals: "GoalStore", event_bus: EventBus, clock: Clock) -> None:
        self._goals, self._clock = goals, clock
        self._writer = GoalWriter(goals, event_bus)

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
