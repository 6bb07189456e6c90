"""Saving of a goal: one change of the version that was read, with the event of a transition or of a step."""

from dataclasses import replace

from sophon.clock import Clock
from sophon.goals.commands import build_event
from sophon.goals.goal import Goal
from sophon.goals.task_node import TaskNode
from sophon.stores.goals.contract import GoalStore
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.goals.goal_host import GoalChangedMeanwhile


class GoalSaver:
    """Saves goals, each as a change of the version that was read."""

    def __init__(self, goals: GoalStore, event_bus: EventBus, clock: Clock) -> None:
        self._goals, self._event_bus, self._clock = goals, event_bus, clock

    async def save(self, goal: Goal, before: Goal, *, step: TaskNode | None = None) -> Goal:
        """Store a change, and emit the event of a transition or of a step. Raises GoalChangedMeanwhile, StoreError."""
        changed = await self._goals.change(replace(goal, version=before.version, updated_at=self._clock.now()))
        if changed is None:
            raise GoalChangedMeanwhile(f"the goal {goal.id!r} was changed by somebody else")
        if step is not None or (changed.state, changed.pause_kind) != (before.state, before.pause_kind):
            name, status = (step.id, step.status) if step is not None else ("", "")
            self._event_bus.emit(build_event(changed, step=name, step_status=status))
        return changed
