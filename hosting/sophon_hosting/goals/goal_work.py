"""Work on one goal: collect what its steps have come to, then start, plan, pause, complete or fail; one save each."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import TypeAlias

from sophon.goals.goal import Goal
from sophon.goals.progress import decide_next, replan
from sophon.goals.task_graph import list_running
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.goals.goal_host import GoalHost
from sophon_hosting.goals.goal_saving import GoalSaver
from sophon_hosting.goals.governor import ResourceGovernor
from sophon_hosting.goals.plan_work import PlanWork
from sophon_hosting.goals.planning import GoalPlanner
from sophon_hosting.goals.step_runs import build_report_request
from sophon_hosting.goals.step_work import STEP_POLL, StepWork

CheckOwner: TypeAlias = Callable[[Goal], Awaitable[str]]
"""Returns why the owner of a goal may not have it worked on any more; "" if they may."""


class GoalWork:
    """Advances goals. `wake` is called when planning has ended; a goal whose owner may not run it is paused."""

    def __init__(
        self, host: GoalHost, planner: GoalPlanner, wake: Callable[[], None], check_owner: CheckOwner | None = None
    ) -> None:
        services = host.services
        self._check_owner = check_owner
        self._host, self._settings, self._clock = host, services.settings.goals, services.clock
        saver = GoalSaver(services.store.goals, host.event_bus, services.clock)
        self.save = saver.save
        governor = ResourceGovernor(services.store.rate_windows, services.clock, self._settings.limits)
        self._plans = PlanWork(host, planner, governor, saver, wake)
        self._steps = StepWork(host, governor, saver)

    async def stop(self) -> None:
        """Cancel the planning calls that are under way; the next start plans again."""
        await self._plans.stop()

    def note_event(self, event: WireEvent) -> None:
        """Note whether the step of an event waits for a person."""
        self._steps.note_event(event)

    def forget_others(self, goal_ids: Collection[str]) -> None:
        """Forget what this process knows of goals other than these."""
        self._steps.forget_others(goal_ids)

    def is_busy(self, goal: Goal) -> bool:
        """Return whether the goal holds a place: it is being planned, or a step of it runs and waits for nobody."""
        return self._plans.is_planning(goal.id) or self._steps.is_working(goal)

    async def advance(self, goal: Goal, *, may_start: bool) -> Goal:
        """Do what is due for a live goal; return it as it is stored then. Raises ChangedMeanwhile, SophonError."""
        now = self._clock.now()
        goal = await self._steps.collect(goal)
        if goal.state == "paused":
            if goal.pause_kind == "person" and list_running(goal.nodes):
                return await self._steps.stop(goal)
            if goal.next_at is None or goal.next_at > now:
                return goal
            if goal.pause_kind == "back_off":
                return await self.save(goal.resume("the back-off is over", now), goal)
            reason = f"{goal.reason}; nobody resumed it in time"
            return await self.save(goal.move("fail", reason, now), goal)
        if self._check_owner is not None and (problem := await self._check_owner(goal)):
            self._plans.cancel(goal.id)
            return await self.save(goal.pause("person", problem, now, limit=self._settings.fail_paused_after), goal)
        if not may_start:
            return await self._look_later(goal)
        if goal.state == "planning":
            return await self._plans.start(goal)
        return await self._work_on(goal)

    async def conclude(self, goal: Goal) -> Goal:
        """Stop the steps of a goal that is over, and report it once to its chat. Raises TryLater, SophonError."""
        self._plans.cancel(goal.id)
        if list_running(goal.nodes):
            goal = await self._steps.stop(goal)
        if goal.reported or goal.state not in ("completed", "failed"):
            return goal
        await self._host.accept(build_report_request(goal, self._clock))
        return await self.save(replace(goal, reported=True), goal)

    async def _work_on(self, goal: Goal) -> Goal:
        now = self._clock.now()
        if goal.tick_at is None or now - goal.tick_at >= self._settings.tick:
            goal = replace(goal, tick_at=now, steps_in_tick=0)
        found = decide_next(goal, now, steps_per_tick=self._settings.steps_per_tick)
        if found.action == "complete":
            return await self.save(goal.move("complete", found.reason, now), goal)
        if found.action == "pause":
            assert found.pause
            limit = self._settings.fail_paused_after
            return await self.save(goal.pause(found.pause, found.reason, now, limit=limit), goal)
        if found.action == "replan":
            return await self.save(replace(replan(goal, found.reason, now), next_at=now), goal)
        if found.action == "start":
            return await self._steps.start(goal, found.nodes)
        return await self._look_later(goal)

    async def _look_later(self, goal: Goal) -> Goal:
        """Return the goal with the time of its next look, which is not stored: nothing has changed."""
        now = self._clock.now()
        if list_running(goal.nodes):
            return replace(goal, next_at=now + STEP_POLL)
        tick_ends = now if goal.tick_at is None else goal.tick_at + self._settings.tick
        return replace(goal, next_at=tick_ends if tick_ends > now else now + self._settings.tick)
