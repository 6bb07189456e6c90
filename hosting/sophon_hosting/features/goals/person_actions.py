"""Actions of people on goals: create, pause, resume, cancel; each is a change of the stored goal and an event.

A host that works on the goal reacts to the change; without one it is found at the next start.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sophon.clock import Clock
from sophon.errors import BudgetExceeded, InputError, NotFound, StoreError
from sophon.goal_autonomy import limit_autonomy, parse_autonomy
from sophon_hosting.events.event_committer import EventCommitter
from sophon_hosting.features.goals.goal_writer import GoalWriter
from sophon_hosting.features.goals.rules.budget import GoalBudget
from sophon_hosting.features.goals.rules.goal import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    PRIORITIES,
    Goal,
    GoalPriority,
)
from sophon_hosting.features.goals.rules.goal_progress import resume_by_person
from sophon_hosting.features.goals.settings import GoalBudgetSettings, GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.store.contract import HostStore

MAX_ATTEMPTS: Final = 8
"""Attempts to change a goal that somebody else changes meanwhile."""


class GoalCommands:
    """Changes goals of a store; `events` publishes the event of every transition, which is stored with it."""

    def __init__(self, store: HostStore, clock: Clock, settings: GoalsSettings, events: EventCommitter) -> None:
        self._sessions, self._goals, self._clock, self._settings = store.sessions, stored_goals(store), clock, settings
        self._writer = GoalWriter(self._goals, events)

    async def create(
        self,
        *,
        owner: str,
        title: str,
        description: str = "",
        autonomy: str | None = None,
        priority: GoalPriority = "default",
        goal_id: str | None = None,
        **where: Any,
    ) -> Goal:
        """Create a goal; one with a known id is returned as it is. `where` are session_id, channel and origin.

        Raises InputError, BudgetExceeded if the owner has `Goals.Limits.ActiveGoals` goals already, StoreError.
        """
        goal = build_goal(
            self._settings, self._clock.now(), goal_id or self._clock.new_id(), owner, title, description, autonomy
        )
        goal = replace(goal, priority=PRIORITIES[priority], **where)
        most = self._settings.limits.active_goals
        session = await self._sessions.get_or_create(goal.work_session_id, owner)
        added = await self._writer.add(goal, most_live=most)
        if added is None:
            await self._sessions.delete(goal.work_session_id)
            raise BudgetExceeded("Goals.Limits.ActiveGoals", most, most, unit="goals")
        if not session.title:
            await self._sessions.rename(goal.work_session_id, f"Goal: {added.title}")
        return added

    async def pause(self, goal_id: str, owner: str | None, *, by: str) -> Goal:
        """Pause a goal until a person resumes it; its running steps are stopped. Raises as `resume`."""

        def pause(goal: Goal, now: datetime) -> Goal:
            return goal.pause("person", f"paused by {by}", now, limit=self._settings.fail_paused_after)

        return await self._change(goal_id, owner, pause)

    async def resume(self, goal_id: str, owner: str | None, *, by: str) -> Goal:
        """Resume a paused goal. Raises NotFound for what is not `owner`'s, InputError,
        IllegalTransition, StoreError.
        """
        more = budget_from_settings(self._settings)

        def resume(goal: Goal, now: datetime) -> Goal:
            return replace(resume_by_person(goal, now, more), reason=f"resumed by {by}")

        return await self._change(goal_id, owner, resume)

    async def cancel(self, goal_id: str, owner: str | None, *, by: str) -> Goal:
        """Cancel a goal; its running steps are stopped. Raises as `resume`."""
        return await self._change(
            goal_id, owner, lambda goal, now: replace(goal.move("cancel", f"cancelled by {by}", now), reported=True)
        )

    async def find(self, goal_id: str, owner: str | None) -> Goal:
        """Return a goal of an owner, of anybody with None. Raises NotFound."""
        goal = await self._goals.find(goal_id)
        if goal is None or owner not in (None, goal.owner):
            raise NotFound("goal", goal_id)
        return goal

    async def _change(self, goal_id: str, owner: str | None, change: Callable[[Goal, datetime], Goal]) -> Goal:
        for _ in range(MAX_ATTEMPTS):
            now = self._clock.now()
            changed = await self._writer.change(replace(change(await self.find(goal_id, owner), now), updated_at=now))
            if changed is not None:
                return changed
        raise StoreError("goals", f"the goal {goal_id!r} was changed by somebody else {MAX_ATTEMPTS} times")


def build_goal(
    settings: GoalsSettings, now: datetime, goal_id: str, owner: str, title: str, description: str, autonomy: str | None
) -> Goal:
    """Return a new goal with the limits of the settings. Raises InputError."""
    title = " ".join(title.split())
    if not title:
        raise InputError("a goal needs a title")
    for name, text, most in (
        ("title", title, MAX_TITLE_CHARACTERS),
        ("description", description, MAX_DESCRIPTION_CHARACTERS),
    ):
        if len(text) > most:
            raise InputError(f"the {name} of a goal has {len(text)} characters; at most {most} are allowed")
    try:
        mode = parse_autonomy(autonomy) if autonomy else settings.autonomy
    except ValueError as error:
        raise InputError(str(error)) from None
    if limit_autonomy(mode, settings.max_autonomy) != mode:
        raise InputError(f"the autonomy of a goal may be {settings.max_autonomy.lower()} at most here")
    return Goal(
        goal_id,
        owner,
        title,
        description.strip() or title,
        autonomy=mode,
        limits=budget_from_settings(settings),
        created_at=now,
        updated_at=now,
        next_at=now,
    )


def budget_from_settings(settings: GoalsSettings) -> GoalBudget:
    """Return the limits of a new goal."""
    return GoalBudget(**{name: getattr(settings.budget, name) for name in GoalBudgetSettings.model_fields})
