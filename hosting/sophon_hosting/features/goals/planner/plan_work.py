"""Planning work: one planning task per goal, and what its result means for the goal."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

from sophon.errors import ChangedMeanwhile
from sophon.failure_log import log_failure
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.features.goals.goal_host import GoalHost
from sophon_hosting.features.goals.goal_writer import GoalSaver
from sophon_hosting.features.goals.governor import ResourceGovernor
from sophon_hosting.features.goals.planner.planning import GoalPlanner, PlanResult
from sophon_hosting.features.goals.rules.budget import find_exhausted
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.store.contract import host_store

log = logging.getLogger("sophon")

MAX_PLAN_TRIES: Final = 3
"""Times that planning begins again after an error of the models."""

MAX_ATTEMPTS: Final = 5


class PlanWork:
    """Plans goals in tasks of their own, so that the engine goes on meanwhile. `wake` is called when one has ended."""

    def __init__(
        self,
        host: GoalHost,
        planner: GoalPlanner,
        governor: ResourceGovernor,
        saver: GoalSaver,
        wake: Callable[[], None],
    ) -> None:
        services = host.services
        self._planner, self._governor, self._saver, self._wake = planner, governor, saver, wake
        self._settings = services.settings.section(GoalsSettings)
        self._clock = services.clock
        self._goals = stored_goals(host_store(services))
        self._plans: dict[str, asyncio.Task[None]] = {}

    async def stop(self) -> None:
        """Cancel the planning calls that are under way; the next start plans again."""
        await end_tasks(*self._plans.values())
        self._plans = {}

    def is_planning(self, goal_id: str) -> bool:
        """Return whether the goal is being planned."""
        return goal_id in self._plans

    def cancel(self, goal_id: str) -> None:
        """Cancel the planning of a goal that is over."""
        if (task := self._plans.get(goal_id)) is not None:
            task.cancel()

    async def start(self, goal: Goal) -> Goal:
        """Start to plan a goal that may use models; return it as it is then.

        Raises ChangedMeanwhile, StoreError.
        """
        now = self._clock.now()
        if goal.id in self._plans:
            return goal
        exhausted = find_exhausted(goal.limits, goal.spent, "planning_tokens")
        if exhausted is not None:
            limit = self._settings.fail_paused_after
            return await self._saver.save(goal.pause("budget", f"budget: {exhausted}", now, limit=limit), goal)
        refused = await self._governor.find_exhausted(goal.owner, ["llm_calls", "tokens"])
        if refused is not None:
            later = replace(goal, next_at=now + self._settings.tick, reason=f"waits: {refused}")
            return await self._saver.save(later, goal)
        self._plans[goal.id] = asyncio.create_task(self._plan(goal))
        return replace(goal, next_at=None)

    async def _plan(self, goal: Goal) -> None:
        try:
            result = await self._planner.plan(goal)
            await self._governor.record(goal.owner, llm_calls=result.calls, tokens=result.all_tokens)
            for _ in range(MAX_ATTEMPTS):
                if await self._try_apply_plan(goal.id, result):
                    return
        except Exception as error:  # noqa: BLE001 - logged; the goal is planned again
            log_failure(log, error, "the goal %s could not be planned; it is tried again", goal.id)
            await self._clock.sleep(self._settings.tick.total_seconds())
        finally:
            self._plans.pop(goal.id, None)
            self._wake()

    async def _try_apply_plan(self, goal_id: str, result: PlanResult) -> bool:
        goal = await self._goals.find(goal_id)
        if goal is None:
            return True
        try:
            await self._saver.save(self._apply_plan(goal, result), goal)
        except ChangedMeanwhile:
            return False
        return True

    def _apply_plan(self, goal: Goal, result: PlanResult) -> Goal:
        now = self._clock.now()
        goal = replace(
            goal,
            spent=goal.spent.add(
                planning_tokens=result.tokens, model_calls=result.calls, model_tokens=result.all_tokens
            ),
        )
        if goal.state != "planning":
            return goal  # paused or cancelled meanwhile: the plan is not used, what it cost is
        if result.nodes:
            planned = goal.move("plan", f"a plan of {len(result.nodes)} steps", now)
            return replace(planned, nodes=result.nodes, plan_number=goal.plan_number + 1, plan_tries=0)
        limit = self._settings.fail_paused_after
        if result.is_refused:
            return goal.pause("refused", result.problem, now, limit=limit)
        tries = goal.plan_tries + 1
        if not result.may_retry or tries >= MAX_PLAN_TRIES:
            return goal.move("fail", result.problem, now)
        until = now + timedelta(seconds=min(15 * 2**tries, 300))
        waiting = goal.pause("back_off", f"no plan yet: {result.problem}", now, limit=limit, until=until)
        return replace(waiting, plan_tries=tries)
