"""Step work: starts the steps of goals as runs, collects what these have come to, and stops them."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from sophon.errors import ChangedMeanwhile, NotFound, SophonError, StoreError
from sophon.principals import memory_scope
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.goals.goal_host import GoalHost
from sophon_hosting.features.goals.goal_writer import GoalSaver
from sophon_hosting.features.goals.governor import Resource, ResourceGovernor, find_agent_refusal
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.goal_progress import StepOutcome, apply_outcome
from sophon_hosting.features.goals.rules.task_graph import list_running, replace_node
from sophon_hosting.features.goals.rules.task_node import TaskNode
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.steps.step_runs import build_step_request, find_cut_off, find_denied, read_outcome
from sophon_hosting.queue.errors import TryLater
from sophon_hosting.runs.data_owner_and_chat_overrides import audience_of_run
from sophon_hosting.store.contract import HostStore, host_store
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

STEP_POLL: Final = timedelta(minutes=5)
"""A step that runs is looked at so often, beside the event with which it ends."""

MAX_ENTRIES: Final = 50
"""Newest memory entries that are looked at after a step."""


class StepWork:
    """Starts, collects and stops the steps of goals."""

    def __init__(self, host: GoalHost, governor: ResourceGovernor, saver: GoalSaver) -> None:
        services = host.services
        self._host, self._governor, self._saver = host, governor, saver
        self._settings = services.settings.section(GoalsSettings)
        self._clock = services.clock
        self._store = host_store(services)
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
        async with self._host.unattended_starts.of(goal.owner):
            return await self._start(goal, nodes)

    async def _start(self, goal: Goal, nodes: Sequence[TaskNode]) -> Goal:
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
        """Return what a run means for its step; what an agent makes of a call that was cut off or denied decides
        nothing.
        """
        outcome = read_outcome(run)
        if outcome.ending not in ("done", "failed"):
            return outcome
        cut_off = find_cut_off(await self._store.sessions.list_turn(run.session_id, run.id), outcome.text)
        if cut_off is not None:
            return cut_off
        asked = await self._store.approvals.list(open_only=False, session_id=run.session_id)
        return find_denied(asked, run.id) or outcome

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
        resources: tuple[Resource, ...] = ("tasks",)
        if node.tool:
            resources = ("tasks", "api_calls") if self._calls_outside(node) else resources
        else:
            resources = ("tasks", "llm_calls", "tokens")
            if refused := await find_agent_refusal(self._host.services, goal.owner):
                return refused
        found = await self._governor.find_exhausted(goal.owner, resources)
        return "" if found is None else str(found)

    def _calls_outside(self, node: TaskNode) -> bool:
        tool = self._host.services.registry.get(node.tool) if node.tool else None
        return tool is not None and tool.external


def count_time(goal: Goal, now: datetime, *, is_first_look: bool) -> Goal:
    """Return the goal with the time since the last look added, if a step was running and waited for nobody.

    The first look of a process adds nothing: while the host was down, no step ran.
    """
    is_running = any(not node.waits for node in list_running(goal.nodes))
    since = goal.counted_at
    if is_running and since is not None and not is_first_look:
        elapsed = max((now - since) / timedelta(seconds=1), 0.0)
        goal = replace(goal, spent=goal.spent.add(runtime_seconds=elapsed))
    return replace(goal, counted_at=now)


async def count_usage(goal: Goal, store: HostStore) -> tuple[Goal, int, int]:
    """Return the goal with what its sessions have used by now, and the model calls and tokens that are new.

    What models wrote while planning is counted apart, so it is no part of the execution.
    """
    calls = tokens = written = 0
    for session_id in goal.list_work_sessions():
        for total in await store.usage.list_totals(session_id=session_id):
            calls += total.calls
            tokens += total.usage.total_tokens
            written += total.usage.output_tokens
    spent = goal.spent
    execution = max(written - spent.planning_tokens, spent.execution_tokens)
    new_calls, new_tokens = max(calls - spent.model_calls, 0), max(tokens - spent.model_tokens, 0)
    changed = replace(
        spent,
        execution_tokens=execution,
        model_calls=spent.model_calls + new_calls,
        model_tokens=spent.model_tokens + new_tokens,
    )
    return replace(goal, spent=changed), new_calls, new_tokens


async def count_memory(goal: Goal, node: TaskNode, run: Run, store: HostStore) -> int:
    """Return the bytes of the step's result and of the memory entries that it has written."""
    text = str((run.response or {}).get("text") or "")
    scope = memory_scope(audience_of_run(run).data_owner)
    newest = await store.memories.search("", scope=scope, limit=MAX_ENTRIES)
    origin = f"{run.channel}/{run.session_id}"
    entries = [
        each.text
        for each in newest
        if each.origin == origin and each.created_at and node.started_at and each.created_at >= node.started_at
    ]
    return sum(len(each.encode("utf-8", "replace")) for each in (text, *entries))
