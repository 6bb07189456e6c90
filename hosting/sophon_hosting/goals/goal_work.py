"""Work on one goal: collect what its steps have come to, then start, plan, pause, complete or fail; one save each."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from sophon.errors import NotFound, SophonError, StoreError, TryLater
from sophon.failure_log import log_failure
from sophon.goals.budget import find_exhausted
from sophon.goals.commands import build_event
from sophon.goals.goal import Goal
from sophon.goals.progress import StepOutcome, apply_outcome, decide_next, replan
from sophon.goals.task_graph import list_running, replace_node
from sophon.goals.task_node import TaskNode
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.goals.goal_host import GoalChangedMeanwhile, GoalHost
from sophon_hosting.goals.governor import Resource, ResourceGovernor
from sophon_hosting.goals.planning import GoalPlanner, PlanResult
from sophon_hosting.goals.step_accounting import count_memory, count_time, count_usage
from sophon_hosting.goals.step_runs import build_report_request, build_step_request, read_outcome
from sophon_hosting.runs.acceptance import TaskReceipt

log = logging.getLogger("sophon")

MAX_PLAN_TRIES: Final = 3
"""Times that planning begins again after an error of the models."""

MAX_ATTEMPTS: Final = 5
STEP_POLL: Final = timedelta(minutes=5)
"""A step that runs is looked at so often, beside the event with which it ends."""


class GoalWork:
    """Advances goals. `wake` is called when planning has ended."""

    def __init__(self, host: GoalHost, planner: GoalPlanner, wake: Callable[[], None]) -> None:
        services = host.services
        self._host, self._planner, self._wake = host, planner, wake
        self._settings, self._clock, self._store = services.settings.goals, services.clock, services.store
        self._governor = ResourceGovernor(services.store.rate_windows, services.clock, self._settings.limits)
        self._plans: dict[str, asyncio.Task[None]] = {}
        self._asking: set[str] = set()
        """Runs that wait for a person, by their events: the store says so a moment later."""
        self._seen: set[str] = set()

    async def stop(self) -> None:
        """Cancel the planning calls that are under way; the next start plans again."""
        for task in self._plans.values():
            task.cancel()
        await asyncio.gather(*self._plans.values(), return_exceptions=True)
        self._plans = {}

    def note_event(self, event: WireEvent) -> None:
        """Note whether the step of an event waits for a person."""
        if event.name == "approval_requested":
            self._asking.add(event.task_id)
        else:
            self._asking.discard(event.task_id)

    def is_busy(self, goal: Goal) -> bool:
        """Return whether the goal holds a place: it is being planned, or a step of it runs and waits for nobody."""
        if goal.id in self._plans:
            return True
        return any(not node.waits and node.run_id not in self._asking for node in list_running(goal.nodes))

    async def advance(self, goal: Goal, *, may_start: bool) -> Goal:
        """Do what is due for a live goal; return it as it is stored then. Raises GoalChangedMeanwhile, SophonError."""
        now = self._clock.now()
        goal = await self._collect(goal)
        if goal.state == "paused":
            if goal.pause_kind == "person" and list_running(goal.nodes):
                return await self._stop_steps(goal)
            if goal.next_at is None or goal.next_at > now:
                return goal
            if goal.pause_kind == "back_off":
                return await self.save(goal.resume("the back-off is over", now), goal)
            reason = f"{goal.reason}; nobody resumed it in time"
            return await self.save(goal.move("fail", reason, now), goal)
        if not may_start:
            return await self._look_later(goal)
        if goal.state == "planning":
            return await self._start_planning(goal)
        return await self._work_on(goal)

    async def conclude(self, goal: Goal) -> Goal:
        """Stop the steps of a goal that is over, and report it once to its chat. Raises TryLater, SophonError."""
        if (task := self._plans.get(goal.id)) is not None:
            task.cancel()
        if list_running(goal.nodes):
            goal = await self._stop_steps(goal)
        if goal.reported or goal.state not in ("completed", "failed"):
            return goal
        await self._host.accept(build_report_request(goal, self._clock))
        return await self.save(replace(goal, reported=True), goal)

    async def save(self, goal: Goal, before: Goal, *, step: TaskNode | None = None) -> Goal:
        """Store a change, and emit the event of a transition or of a step. Raises GoalChangedMeanwhile, StoreError."""
        changed = await self._store.goals.change(replace(goal, version=before.version, updated_at=self._clock.now()))
        if changed is None:
            raise GoalChangedMeanwhile(f"the goal {goal.id!r} was changed by somebody else")
        if step is not None or (changed.state, changed.pause_kind) != (before.state, before.pause_kind):
            name, status = (step.id, step.status) if step is not None else ("", "")
            self._host.event_bus.emit(build_event(changed, step=name, step_status=status))
        return changed

    async def _collect(self, goal: Goal) -> Goal:
        """Apply the outcomes of steps that have ended; accept a step again whose acceptance was interrupted."""
        first = goal.id not in self._seen
        self._seen.add(goal.id)
        goal = count_time(goal, self._clock.now(), is_first_look=first)
        for node in list_running(goal.nodes):
            if not node.run_id:
                goal = await self._accept(goal, node)
                continue
            run = await self._store.runs.find(node.run_id)
            if run is None:
                goal = await self._apply(goal, node, StepOutcome("failed", "its task was deleted"))
            elif run.is_finished:
                added = await count_memory(goal, node, run, self._store)
                goal = replace(goal, spent=goal.spent.add(memory_bytes=added))
                goal, calls, tokens = await count_usage(goal, self._store)
                await self._governor.record(goal.owner, llm_calls=calls, tokens=tokens)
                goal = await self._apply(goal, node, read_outcome(run))
            else:
                waits = run.status == "suspended" or node.run_id in self._asking
                if waits != node.waits:
                    changed = replace(node, waits=waits)
                    goal = await self.save(replace(goal, nodes=replace_node(goal.nodes, changed)), goal, step=changed)
        return goal

    async def _apply(self, goal: Goal, node: TaskNode, outcome: StepOutcome) -> Goal:
        now = self._clock.now()
        self._asking.discard(node.run_id)
        after = apply_outcome(goal, node.id, outcome, now, limit=self._settings.fail_paused_after)
        if after.state == "active":
            after = replace(after, next_at=now)
        return await self.save(after, goal, step=after.get_node(node.id))

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
            return await self._start(goal, found.nodes)
        return await self._look_later(goal)

    async def _start(self, goal: Goal, nodes: Sequence[TaskNode]) -> Goal:
        for node in nodes:
            refused = await self._find_refusal(goal, node)
            if refused:
                later = replace(goal, next_at=self._clock.now() + self._settings.tick, reason=f"waits: {refused}")
                return await self.save(later, goal)
            now = self._clock.now()
            started = replace(node.start(now), session_id=goal.find_free_session())
            goal = await self.save(
                replace(
                    goal,
                    nodes=replace_node(goal.nodes, started),
                    spent=goal.spent.add(steps=1),
                    steps_in_tick=goal.steps_in_tick + 1,
                    reason="",
                    next_at=now + STEP_POLL,
                ),
                goal,
                step=started,
            )
            await self._governor.record(goal.owner, tasks=1, api_calls=int(self._calls_outside(node)))
            goal = await self._accept(goal, started)
        return goal

    async def _accept(self, goal: Goal, node: TaskNode) -> Goal:
        """Accept the run of a started node; the key of its try makes a repetition the same run."""
        try:
            await self._store.sessions.get_or_create(node.session_id, goal.owner)
            receipt = await self._host.accept(build_step_request(goal, node, node.session_id, self._clock))
        except TryLater as error:
            log.info("goal %s: step %s is not accepted yet: %s", goal.id, node.id, error)
            later = replace(goal, next_at=self._clock.now() + self._settings.tick, reason=f"waits: {error}")
            return await self.save(later, goal)
        except StoreError:
            raise
        except SophonError as error:
            return await self._apply(goal, node, StepOutcome("failed", str(error)))
        accepted = replace(node, run_id=receipt.task_id)
        try:
            return await self.save(replace(goal, nodes=replace_node(goal.nodes, accepted)), goal)
        except GoalChangedMeanwhile:
            await self._withdraw(goal, receipt)
            raise

    async def _withdraw(self, goal: Goal, receipt: TaskReceipt) -> None:
        """Cancel a step that was accepted while its goal ended or was deleted: nobody would look at it any more."""
        now = await self._store.goals.find(goal.id)
        if now is None or now.state not in ("active", "planning"):
            await self._host.cancel(receipt.task_id)
        if now is None:
            await self._store.sessions.delete(receipt.session_id)

    async def _find_refusal(self, goal: Goal, node: TaskNode) -> str:
        """Return which limit of the owner keeps a step from starting; "" if none does."""
        limits = self._settings.limits
        resources: tuple[Resource, ...] = ("tasks",)
        if node.tool:
            resources = ("tasks", "api_calls") if self._calls_outside(node) else resources
        else:
            resources = ("tasks", "llm_calls", "tokens")
            live = await self._store.goals.list(owner=goal.owner, states=("active",), limit=1000)
            agents = sum(not each.tool and not each.waits for other in live for each in list_running(other.nodes))
            if agents >= limits.running_agents:
                return f"{agents}/{limits.running_agents} running agents"
        found = await self._governor.find_exhausted(goal.owner, resources)
        return "" if found is None else str(found)

    def _calls_outside(self, node: TaskNode) -> bool:
        tool = self._host.services.registry.get(node.tool) if node.tool else None
        return tool is not None and tool.external

    async def _start_planning(self, goal: Goal) -> Goal:
        now = self._clock.now()
        if goal.id in self._plans:
            return goal
        exhausted = find_exhausted(goal.limits, goal.spent, "planning_tokens")
        if exhausted is not None:
            limit = self._settings.fail_paused_after
            return await self.save(goal.pause("budget", f"budget: {exhausted}", now, limit=limit), goal)
        refused = await self._governor.find_exhausted(goal.owner, ["llm_calls", "tokens"])
        if refused is not None:
            later = replace(goal, next_at=now + self._settings.tick, reason=f"waits: {refused}")
            return await self.save(later, goal)
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
        goal = await self._store.goals.find(goal_id)
        if goal is None:
            return True
        try:
            await self.save(self._apply_plan(goal, result), goal)
        except GoalChangedMeanwhile:
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

    async def _stop_steps(self, goal: Goal) -> Goal:
        """Cancel the runs of all running steps, which are pending then."""
        nodes = goal.nodes
        for node in list_running(nodes):
            if node.run_id:
                try:
                    await self._host.cancel(node.run_id)
                except NotFound:
                    log.debug("the task of step %s of goal %s was deleted", node.id, goal.id)
            self._asking.discard(node.run_id)
            nodes = replace_node(nodes, node.stop())
        goal, calls, tokens = await count_usage(replace(goal, nodes=nodes), self._store)
        await self._governor.record(goal.owner, llm_calls=calls, tokens=tokens)
        return await self.save(goal, goal)

    async def _look_later(self, goal: Goal) -> Goal:
        """Return the goal with the time of its next look, which is not stored: nothing has changed."""
        now = self._clock.now()
        if list_running(goal.nodes):
            return replace(goal, next_at=now + STEP_POLL)
        tick_ends = now if goal.tick_at is None else goal.tick_at + self._settings.tick
        return replace(goal, next_at=tick_ends if tick_ends > now else now + self._settings.tick)
