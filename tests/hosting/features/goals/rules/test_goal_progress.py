"""What the outcome of a step changes, what is to be done next, and what a person gives a goal that is resumed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import IllegalTransition, InputError
from sophon_hosting.features.goals.rules.budget import GoalBudget, GoalSpending
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.goal_progress import (
    STEPS_PER_TICK,
    StepEnding,
    StepOutcome,
    apply_outcome,
    decide_next,
    replan,
    resume_by_person,
)
from sophon_hosting.features.goals.rules.stability import Stability
from sophon_hosting.features.goals.rules.task_node import TaskNode

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMIT = timedelta(minutes=10)


def active(*nodes: TaskNode, **more: object) -> Goal:
    goal = Goal("g", "ada", "Title", "Words", state="active", nodes=nodes)
    return replace(goal, **more)  # type: ignore[arg-type]


def running(name: str = "a", tool: str = "note", **more: object) -> TaskNode:
    return replace(TaskNode(name, name, tool).start(NOON), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ending", "status", "state", "pause"),
    [
        ("done", "done", "active", ""),
        ("failed", "pending", "active", ""),
        ("blocked", "pending", "active", ""),
        ("denied", "pending", "paused", "denied"),
        ("unknown", "pending", "paused", "denied"),
        ("refused", "pending", "paused", "refused"),
    ],
)
def test_what_each_ending_of_a_step_means(ending: StepEnding, status: str, state: str, pause: str):
    after = apply_outcome(active(running()), "a", StepOutcome(ending, "text"), NOON, limit=LIMIT)
    assert (after.nodes[0].status, after.state, after.pause_kind) == (status, state, pause)
    assert after.next_at == (NOON + LIMIT if pause else None)


def test_a_goal_that_is_paused_already_only_keeps_what_its_last_step_came_to():
    paused = active(running()).pause("person", "", NOON, limit=LIMIT)
    for ending in ("done", "failed", "denied"):
        after = apply_outcome(paused, "a", StepOutcome(ending, "x"), NOON, limit=LIMIT)
        assert (after.state, after.pause_kind) == ("paused", "person")


@pytest.mark.parametrize(
    ("goal", "action", "reason"),
    [
        (active(TaskNode("a", "a", status="done")), "complete", "all steps are done"),
        (active(TaskNode("a", "a")), "start", ""),
        (active(TaskNode("a", "a"), steps_in_tick=3), "wait", ""),
        (active(running(), TaskNode("b", "b")), "wait", ""),
        (active(TaskNode("a", "a"), spent=GoalSpending(steps=50)), "pause", "budget: 50/50 steps"),
        (
            active(TaskNode("a", "a"), spent=GoalSpending(execution_tokens=10_001)),
            "pause",
            "budget: 10001/10000 execution",
        ),
        (active(TaskNode("a", "a"), spent=GoalSpending(memory_bytes=2**20)), "pause", "budget: 1048576/1048576 memory"),
        (active(TaskNode("a", "a"), spent=GoalSpending(runtime_seconds=3600)), "pause", "budget: 3600/3600 runtime"),
        (active(TaskNode("a", "a", status="failed")), "replan", "failed: a"),
        (active(TaskNode("a", "a", status="failed"), spent=GoalSpending(replans=5)), "pause", "budget: 5/5 replans"),
        (
            active(TaskNode("a", "a", status="failed"), stability=Stability(replans_at=(NOON,) * 5)),
            "pause",
            "too many new plans",
        ),
        (active(TaskNode("a", "a", status="done"), spent=GoalSpending(steps=60)), "complete", "all steps are done"),
    ],
)
def test_what_is_done_next(goal: Goal, action: str, reason: str):
    found = decide_next(goal, NOON)
    assert found.action == action
    assert found.reason.startswith(reason)


@given(st.integers(1, 8), st.integers(0, 8), st.integers(1, 10))
def test_no_more_steps_start_than_each_limit_allows(parallel: int, in_tick: int, count: int):
    nodes = [TaskNode(f"s{number}", "x") for number in range(count)]
    goal = active(
        *nodes, steps_in_tick=in_tick, limits=GoalBudget(parallel=parallel, steps=9), spent=GoalSpending(steps=5)
    )
    found = decide_next(goal, NOON)
    assert len(found.nodes) == max(min(parallel, STEPS_PER_TICK - in_tick, 4, count), 0)


def test_once_a_step_is_done_the_plan_stays_and_only_failed_steps_are_opened_again():
    failed = TaskNode("b", "b", status="failed")
    fresh = replan(active(failed), "failed: b", NOON)
    assert (fresh.state, fresh.spent.replans) == ("planning", 1)
    locked = replan(active(TaskNode("a", "a", status="done"), failed), "failed: b", NOON)
    assert (locked.state, [node.status for node in locked.nodes]) == ("active", ["done", "pending"])
    assert locked.stability.replans_at == (NOON,)


def test_who_resumes_a_goal_gives_it_as_much_again_of_what_it_has_used_up():
    spent = GoalSpending(steps=50, execution_tokens=12_000)
    paused = active(TaskNode("a", "a"), spent=spent).pause("budget", "", NOON, limit=LIMIT)
    limits = resume_by_person(paused, NOON, GoalBudget()).limits
    assert (limits.steps, limits.execution_tokens, limits.replans) == (100, 22_000, 5)
    denied = active(TaskNode("a", "a"), spent=spent).pause("denied", "", NOON, limit=LIMIT)
    assert resume_by_person(denied, NOON, GoalBudget()).limits == GoalBudget()


def test_an_oscillating_goal_gets_another_plan_unless_a_step_is_done():
    failed, done = TaskNode("a", "a", status="failed"), TaskNode("b", "b", status="done")
    stability = Stability().note_failure("x").note_failure("x").note_failure("x")
    for nodes, state in (((failed,), "planning"), ((failed, done), "active")):
        paused = active(*nodes, stability=stability).pause("oscillation", "", NOON, limit=LIMIT)
        resumed = resume_by_person(paused, NOON, GoalBudget())
        assert (resumed.state, resumed.stability.is_oscillating) == (state, False)


def test_only_a_paused_goal_is_resumed():
    with pytest.raises(InputError, match="only a paused goal"):
        resume_by_person(active(), NOON, GoalBudget())
    with pytest.raises(IllegalTransition):
        resume_by_person(active(state="completed"), NOON, GoalBudget())
