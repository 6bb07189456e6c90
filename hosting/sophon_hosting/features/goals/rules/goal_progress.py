"""Progress of a goal: what the outcome of a step changes, and what is to be done next. Pure: the host does it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import InputError
from sophon_hosting.features.goals.rules.budget import BudgetDimension, GoalBudget, find_exhausted
from sophon_hosting.features.goals.rules.goal import Goal, PauseKind
from sophon_hosting.features.goals.rules.stability import compute_backoff_seconds, is_replan_storm
from sophon_hosting.features.goals.rules.task_graph import (
    is_plan_locked,
    list_ready,
    list_running,
    reopen_failed,
    replace_node,
)
from sophon_hosting.features.goals.rules.task_node import TaskNode

StepEnding: TypeAlias = Literal["done", "failed", "blocked", "denied", "refused", "unknown"]
"""How a step ended: `blocked` by a guard, `denied` by a person or because nobody decided, `refused` by a limit of its
user, `unknown` after a kill in the middle of a call."""

STEPS_PER_TICK: Final = 3
"""Steps of a goal started within a tick, so that one goal leaves places for others. Source: WASP, goal engine."""
MAX_RESULT_CHARACTERS: Final = 8000
MAX_REASON_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Outcome of a step, with its result or its error."""

    ending: StepEnding
    text: str


@dataclass(frozen=True, slots=True)
class NextStep:
    """What is to be done: start `nodes`, or an end or a pause, for a reason."""

    action: Literal["start", "complete", "replan", "pause", "wait"]
    nodes: Sequence[TaskNode] = ()
    pause: Literal["", "budget", "replan_storm"] = ""
    reason: str = ""


def apply_outcome(goal: Goal, node_id: str, outcome: StepOutcome, at: datetime, *, limit: timedelta) -> Goal:
    """Return the goal after a step ended; `limit` is how long a rule pauses it before it fails.

    Only a failure is tried again by itself. After a denial, a refusal or an unknown outcome a person decides.
    """
    node, text = goal.get_node(node_id), outcome.text
    if outcome.ending == "done":
        done = node.complete(text[:MAX_RESULT_CHARACTERS])
        return replace(goal, nodes=replace_node(goal.nodes, done), stability=goal.stability.note_success())
    error = text[:MAX_RESULT_CHARACTERS]
    reason = f"step {node.id}: {' '.join(text.split())}"[:MAX_REASON_CHARACTERS]
    if outcome.ending in ("denied", "refused", "unknown"):
        stopped = replace(node.stop(), error=error)
        goal = replace(goal, nodes=replace_node(goal.nodes, stopped))
        kind: PauseKind = "refused" if outcome.ending == "refused" else "denied"
        return goal.pause(kind, reason, at, limit=limit) if goal.state == "active" else goal
    stability = goal.stability
    if outcome.ending == "blocked":
        # Counted by tool: a rule that blocks three times locks it, and then another plan may avoid it.
        stability = replace(stability.note_block(node.tool or "agent"), failures=stability.failures + 1)
    else:
        stability = stability.note_failure(text)
    failed = node.fail(error, may_retry=node.tool not in stability.locked_tools)
    goal = replace(goal, nodes=replace_node(goal.nodes, failed), stability=stability)
    return _apply_stability(goal, reason, at, limit) if goal.state == "active" else goal


def _apply_stability(goal: Goal, reason: str, at: datetime, limit: timedelta) -> Goal:
    if goal.stability.is_oscillating:
        return goal.pause(
            "oscillation", f"the same error {goal.stability.same_errors} times; {reason}", at, limit=limit
        )
    seconds = compute_backoff_seconds(goal.stability.failures)
    if seconds:
        until = at + timedelta(seconds=seconds)
        told = f"{goal.stability.failures} failures in a row, it goes on in {seconds} s; {reason}"
        return goal.pause("back_off", told, at, limit=limit, until=until)
    return goal


def decide_next(goal: Goal, now: datetime) -> NextStep:
    """Return what is to be done for an active goal."""
    if goal.nodes and all(node.status == "done" for node in goal.nodes):
        return NextStep("complete", reason="all steps are done")
    running, ready = list_running(goal.nodes), list_ready(goal.nodes)
    exhausted = _find_exhausted(goal, "execution_tokens", "memory_bytes", "runtime_seconds")
    if ready:
        exhausted = exhausted or _find_exhausted(goal, "steps")
        if exhausted:
            return NextStep("pause" if not running else "wait", pause="budget", reason=exhausted)
        left = goal.limits.steps - goal.spent.steps
        free = min(goal.limits.parallel - len(running), STEPS_PER_TICK - goal.steps_in_tick, left)
        return NextStep("start", ready[:free]) if free > 0 else NextStep("wait")
    if running:
        return NextStep("wait")
    exhausted = exhausted or _find_exhausted(goal, "replans")
    if exhausted:
        return NextStep("pause", pause="budget", reason=exhausted)
    if is_replan_storm(goal.stability.replans_at, now):
        return NextStep("pause", pause="replan_storm", reason="too many new plans in ten minutes")
    return NextStep("replan", reason=_describe_failed(goal.nodes))


def replan(goal: Goal, reason: str, at: datetime) -> Goal:
    """Return the goal with another try: a new plan, or once a step is done the same one with failed steps reopened."""
    spent, stability = goal.spent.add(replans=1), goal.stability.note_replan(at)
    if is_plan_locked(goal.nodes):
        return replace(goal, nodes=reopen_failed(goal.nodes), spent=spent, stability=stability)
    return replace(goal.move("replan", reason, at), spent=spent, stability=stability, plan_tries=0)


def resume_by_person(goal: Goal, at: datetime, more: GoalBudget) -> Goal:
    """Return a paused goal that a person has resumed: past failures are forgiven, and of what it has used up it gets
    `more`.

    After an oscillation it gets another plan, unless a step is done. Raises InputError for one
    that goes on already, IllegalTransition for one that is over.
    """
    if goal.is_live and goal.state != "paused":
        raise InputError(f"the goal {goal.id!r} is {goal.state}; only a paused goal can be resumed")
    plans = goal.pause_kind == "oscillation" and not is_plan_locked(goal.nodes)
    limits = goal.limits
    if goal.pause_kind == "budget":
        for dimension in _EXTENDABLE:
            if find_exhausted(limits, goal.spent, dimension):
                beyond = int(getattr(goal.spent, dimension)) - getattr(limits, dimension)
                limits = limits.extend(dimension, beyond + max(getattr(more, dimension), 1))
    nodes = reopen_failed(goal.nodes)
    resumed = replace(goal, limits=limits, nodes=nodes, stability=goal.stability.forgive(), plan_tries=0)
    return resumed.resume("resumed by a person", at, plans=plans)


_EXTENDABLE: Final[tuple[BudgetDimension, ...]] = (
    *("planning_tokens", "execution_tokens", "replans", "steps"),
    *("memory_bytes", "runtime_seconds"),
)


def _find_exhausted(goal: Goal, *dimensions: BudgetDimension) -> str:
    found = find_exhausted(goal.limits, goal.spent, *dimensions)
    return f"budget: {found}" if found else ""


def _describe_failed(nodes: Sequence[TaskNode]) -> str:
    failed = [node.id for node in nodes if node.status == "failed"]
    return f"failed: {', '.join(failed)}"
