"""Step work: starts the steps of goals as runs, collects what these have come to, and stops them."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from sophon.errors import ChangedMeanwhile, NotFound, SophonError, StoreError, TryLater
from sophon.goals.goal import Goal
from sophon.goals.progress import StepOutcome, apply_outcome
from sophon.goals.state_machine import GoalState
from sophon.goals.task_graph import list_running, replace_node
from sophon.goals.task_node import TaskNode
from sophon.stores.runs.contract import Run
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.goals.goal_host import GoalHost
from sophon_hosting.goals.goal_saving import GoalSaver
from sophon_hosting.goals.governor import Resource, ResourceGovernor
from sophon_hosting.goals.step_accounting import count_memory, count_time, count_usage
from sophon_hosting.goals.step_runs import build_step_request, find_cut_off, read_outcome

log = logging.getLogger("sophon")

STEP_POLL: Final = timedelta(minutes=5)
"""A step that runs is looked at so often, beside the event with which it ends."""

ACTIVE: Final[tuple[GoalState, ...]] = ("active",)
"""The goals whose steps count against a person's limits."""


class StepWork:
    """Starts, collects and stops the steps of goals."""

    def __init__(self, host: GoalHost, governor: ResourceGovernor, saver: GoalSaver) -> None:
        services = host.services
        self._host, self._governor, self._saver = host, governor, saver
        self._settings, self._clock, self._store = services.settings.goals, services.clock, services.store
        self._asking: set[str] = set()
        """Runs that wait for a person, by their events: the store says so a moment later."""
        self._seen: set[str] = set()

    def note_event(self, event: WireEvent) -> None:
        """Note whether the step of an event waits for a person."""
        if event.name == "approval_requested":
            self._asking.add(event.task_id)
        else:
            self._asking.discard(event.task_id)

    def is_working(self, goal: Goal) -> bool:
        """Return whether a step of the goal runs and waits for nobody."""
        return any(not node.waits and node.run_id not in self._asking for node in list_running(goal.nodes))

    def forget_others(self, goal_ids: Collection[str]) -> None:
        """Forget which goals were looked at, but these."""
        self._seen.intersection_update(goal_ids)

    async def collect(self, goal: Goal) -> Goal:
        """Apply the outcomes of steps that have ended; accept a step again whose acceptance was interrupted.

        While the goal is paused it is not: a person may have stopped it since.
        """
        first = goal.id not in self._seen
        self._seen.add(goal.id)
        goal = count_time(goal, self._clock.now(), is_first_look=first)
        for node in list_running(goal.nodes):
            if not node.run_id:
                goal = await self._accept(goal, node) if goal.state == "active" else goal
                continue
            run = await self._store.runs.find(node.run_id)
            if run is None:
                goal = await self._apply(goal, node, StepOutcome("failed", "its task was deleted"))
            elif run.is_finished:
                added = await count_memory(goal, node, run, self._store)
                goal = replace(goal, spent=goal.spent.add(memory_bytes=added))
                goal, calls, tokens = await count_usage(goal, self._store)
                await self._governor.record(goal.owner, llm_calls=calls, tokens=tokens)
                goal = await self._apply(goal, node, await self._read_outcome(run))
            else:
                waits = run.status == "suspended" or node.run_id in self._asking
                if waits != node.waits:
                    changed = replace(node, waits=waits)
                    goal = await self._saver.save(
                        replace(goal, nodes=replace_node(goal.nodes, changed)), goal, step=changed
                    )
        return goal

    async def start(self, goal: Goal, nodes: Sequence[TaskNode]) -> Goal:
        """Start steps, unless a limit of the owner holds them back. Raises ChangedMeanwhile, SophonError."""
        for node in nodes:
            refused = await self._find_refusal(goal, node)
            if refused:
                later = replace(goal, next_at=self._clock.now() + self._settings.tick, reason=f"waits: {refused}")
                return await self._saver.save(later, goal)
            now = self._clock.now()
            started = replace(node.start(now), session_id=goal.find_free_session())
            goal = await self._saver.save(
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

    async def stop(self, goal: Goal) -> Goal:
        """Cancel the runs of all running steps, which are pending then."""
        nodes = goal.nodes
        for node in list_running(nodes):
            if run_id := node.run_id or await self._find_accepted(goal, node):
                try:
                    await self._host.cancel(run_id)
                except NotFound:
                    log.debug("the task of step %s of goal %s was deleted", node.id, goal.id)
            self._asking.discard(node.run_id)
            nodes = replace_node(nodes, node.stop())
        goal, calls, tokens = await count_usage(replace(goal, nodes=nodes), self._store)
        await self._governor.record(goal.owner, llm_calls=calls, tokens=tokens)
        return await self._saver.save(goal, goal)

    async def _read_outcome(self, run: Run) -> StepOutcome:
        """Return what a run means for its step; what an agent makes of a call that was cut off decides nothing."""
        outcome = read_outcome(run)
        if outcome.ending not in ("done", "failed"):
            return outcome
        return find_cut_off(await self._store.sessions.list_turn(run.session_id, run.id), outcome.text) or outcome

    async def _apply(self, goal: Goal, node: TaskNode, outcome: StepOutcome) -> Goal:
        now = self._clock.now()
        self._asking.discard(node.run_id)
        after = apply_outcome(goal, node.id, outcome, now, limit=self._settings.fail_paused_after)
        if after.state == "active":
            after = replace(after, next_at=now)
        return await self._saver.save(after, goal, step=after.get_node(node.id))

    async def _accept(self, goal: Goal, node: TaskNode) -> Goal:
        """Accept the run of a started node; the key of its try makes a repetition the same run.

        The store accepts it for the goal as it was read, so that none is accepted behind a deletion or a pause.
        """
        try:
            receipt = await self._host.accept(build_step_request(goal, node, node.session_id, self._clock))
        except TryLater as error:
            log.info("goal %s: step %s is not accepted yet: %s", goal.id, node.id, error)
            later = replace(goal, next_at=self._clock.now() + self._settings.tick, reason=f"waits: {error}")
            return await self._saver.save(later, goal)
        except (StoreError, ChangedMeanwhile):
            raise
        except SophonError as error:
            return await self._apply(goal, node, StepOutcome("failed", str(error)))
        accepted = replace(node, run_id=receipt.task_id)
        return await self._saver.save(replace(goal, nodes=replace_node(goal.nodes, accepted)), goal)

    async def _find_accepted(self, goal: Goal, node: TaskNode) -> str:
        """Return the run of a node whose goal was changed between its acceptance and the note of it; "" if none."""
        key = build_step_request(goal, node, node.session_id, self._clock).inbound_key
        assert key is not None
        run = await self._store.runs.find_by_key(key)
        return "" if run is None else run.id

    async def _find_refusal(self, goal: Goal, node: TaskNode) -> str:
        """Return which limit of the owner keeps a step from starting; "" if none does."""
        limits = self._settings.limits
        resources: tuple[Resource, ...] = ("tasks",)
        if node.tool:
            resources = ("tasks", "api_calls") if self._calls_outside(node) else resources
        else:
            resources = ("tasks", "llm_calls", "tokens")
            live = await self._store.goals.list(owner=goal.owner, states=ACTIVE, limit=1000)
            agents = sum(not each.tool and not each.waits for other in live for each in list_running(other.nodes))
            if agents >= limits.running_agents:
                return f"{agents}/{limits.running_agents} running agents"
        found = await self._governor.find_exhausted(goal.owner, resources)
        return "" if found is None else str(found)

    def _calls_outside(self, node: TaskNode) -> bool:
        tool = self._host.services.registry.get(node.tool) if node.tool else None
        return tool is not None and tool.external
