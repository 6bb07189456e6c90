"""Budgets, stability rules, autonomy and priorities of goals, as tables with the published numbers."""

from datetime import UTC, datetime, timedelta

import pytest

from sophon.goal_autonomy import Autonomy, limit_autonomy, parse_autonomy, promote_risk, requires_confirmation
from sophon.risk import Risk
from sophon_hosting.features.goals.rules.budget import GoalBudget, GoalSpending, find_exhausted, list_budget
from sophon_hosting.features.goals.rules.goal import PRIORITIES, Goal
from sophon_hosting.features.goals.rules.stability import (
    Stability,
    compute_backoff_seconds,
    is_replan_storm,
    normalise_error,
)
from sophon_hosting.features.goals.rules.task_node import TaskNode

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_limits_are_those_of_the_published_code():
    assert GoalBudget().to_json() == {
        "planning_tokens": 2000,
        "execution_tokens": 10_000,
        "replans": 5,
        "steps": 50,
        "parallel": 1,
        "memory_bytes": 1_048_576,
        "runtime_seconds": 3600,
    }
    assert PRIORITIES == {"user": 8, "agent": 6, "default": 5, "autonomous": 3}


@pytest.mark.parametrize(
    ("dimension", "used", "says"),
    [
        ("planning_tokens", 1999, None),
        ("planning_tokens", 2000, "2000/2000 planning_tokens"),
        ("execution_tokens", 10_432, "10432/10000 execution_tokens"),
        ("replans", 5, "5/5 replans"),
        ("steps", 50, "50/50 steps"),
        ("memory_bytes", 1_048_576, "1048576/1048576 memory_bytes"),
        ("runtime_seconds", 3600.5, "3600.5/3600 runtime_seconds"),
    ],
)
def test_a_dimension_without_rest_is_found(dimension: str, used: float, says: str | None):
    found = find_exhausted(GoalBudget(), GoalSpending(**{dimension: used}), dimension)  # type: ignore[arg-type]
    assert (None if found is None else str(found)) == says


def test_every_dimension_is_listed_with_its_use():
    shown = [str(each) for each in list_budget(GoalBudget(), GoalSpending(steps=3), running=1)]
    assert shown[3:5] == ["3/50 steps", "1/1 parallel"]
    assert len(shown) == 7


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (3, 0), (4, 2), (5, 4), (6, 8), (10, 128), (11, 256), (12, 300), (1000, 300)]
)
def test_back_off_doubles_from_the_fourth_failure_on(failures: int, seconds: int):
    assert compute_backoff_seconds(failures) == seconds


def test_five_replans_in_ten_minutes_are_a_storm():
    record = Stability()
    for minute in (0, 2, 4, 6):
        record = record.note_replan(NOON + timedelta(minutes=minute))
    assert not is_replan_storm(record.replans_at, NOON + timedelta(minutes=8))
    record = record.note_replan(NOON + timedelta(minutes=8))
    assert is_replan_storm(record.replans_at, NOON + timedelta(minutes=9, seconds=59))
    assert not is_replan_storm(record.replans_at, NOON + timedelta(minutes=10))


@pytest.mark.parametrize(
    ("errors", "oscillates"),
    [
        (["a", "a"], False),
        (["a", "a", "a"], True),
        (["a", "b", "a", "a"], False),
        (["took 12 s", "took 13  s", "took 14 s"], True),
        (["a", "a", "", "a"], False),
    ],
)
def test_the_same_error_three_times_in_a_row_locks(errors: list[str], oscillates: bool):
    record = Stability()
    for error in errors:
        record = record.note_failure(error)
    assert record.is_oscillating is oscillates


def test_a_success_ends_the_row_of_failures():
    record = Stability().note_failure("a").note_failure("a").note_success().note_failure("a")
    assert (record.failures, record.is_oscillating) == (1, False)


def test_three_blocks_lock_one_tool_and_a_person_cannot_lift_that_by_resuming():
    record = Stability()
    for tool in ("http.send", "files.write", "http.send", "http.send"):
        record = record.note_block(tool)
    assert record.locked_tools == ("http.send",)
    assert record.forgive().locked_tools == ("http.send",)
    assert Stability.from_json(record.note_replan(NOON).to_json()) == record.note_replan(NOON)


def test_an_error_is_told_apart_by_its_words():
    assert normalise_error("line 3:\n  not found") == "line #: not found"


MATRIX = {"Assist": "asks asks asks asks asks", "Semi": "- - - asks asks", "Full": "- - - - asks"}


@pytest.mark.parametrize("mode", MATRIX)
def test_the_autonomy_matrix(mode: Autonomy):
    found = ["asks" if requires_confirmation(mode, risk) else "-" for risk in Risk]
    assert found == MATRIX[mode].split()


@pytest.mark.parametrize(
    "tool", ["shell", "bash", "python_exec", "write_file", "read_file", "self_improve", "http_request"]
)
def test_dangerous_tools_are_of_high_risk_at_least_whatever_the_plan_says(tool: str):
    assert promote_risk(tool, Risk.NONE) is Risk.HIGH
    assert promote_risk(tool, Risk.CRITICAL) is Risk.CRITICAL
    assert promote_risk("calculator", Risk.LOW) is Risk.LOW


def test_an_autonomy_mode_is_read_in_any_case_and_limited():
    assert parse_autonomy("FULL") == "Full"
    assert limit_autonomy("Full", "Semi") == "Semi"
    with pytest.raises(ValueError, match="use assist, semi or full"):
        parse_autonomy("yolo")


def make_goal() -> Goal:
    return Goal("g1", "ada", "Title", "Words", created_at=NOON, nodes=(TaskNode("a", "b"),))


def test_a_goal_is_kept_as_json():
    goal = make_goal().move("plan", "", NOON).pause("budget", "50/50 steps", NOON, limit=timedelta(minutes=10))
    assert Goal.from_json(goal.to_json()) == goal


def test_what_paused_a_goal_says_when_it_is_looked_at_again():
    active = make_goal().move("plan", "", NOON)
    limit, later = timedelta(minutes=10), NOON + timedelta(seconds=8)
    assert active.pause("person", "", NOON, limit=limit).next_at is None
    assert active.pause("budget", "", NOON, limit=limit).next_at == NOON + limit
    waiting = active.pause("back_off", "", NOON, limit=limit, until=later)
    assert (waiting.next_at, waiting.resume_at) == (later, later)
    again = waiting.resume("back-off is over", later)
    assert (again.state, again.pause_kind, again.resume_at) == ("active", "", None)


def test_a_goal_without_a_plan_resumes_by_planning():
    goal = Goal("g1", "ada", "Title", "Words")
    assert goal.pause("person", "", NOON, limit=timedelta(1)).resume("", NOON).state == "planning"
