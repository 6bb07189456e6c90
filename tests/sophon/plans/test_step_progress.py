"""The running of a plan: which step may start, what a failure takes along, and how it survives a restart."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import StateError
from sophon.plans import Plan, PlanProgress, PlanStep

MakePlan = Callable[..., Plan]


def ids(steps: list[PlanStep]) -> str:
    return " ".join(step.id for step in steps)


def run(progress: PlanProgress, *step_ids: str) -> None:
    for step_id in step_ids:
        progress.start(step_id)
        progress.complete(step_id, f"result of {step_id}")


def get_step(plan: Plan, step_id: str) -> PlanStep:
    return next(step for step in plan.steps if step.id == step_id)


def needs_of(plan: Plan) -> Mapping[str, set[str]]:
    """Every id with all that it needs, directly or not: told by a plain walk, to check the graph against."""
    all_needs: dict[str, set[str]] = {}

    def needs(step_id: str) -> set[str]:
        if step_id not in all_needs:
            direct = get_step(plan, step_id).depends_on
            all_needs[step_id] = {*direct, *(far for near in direct for far in needs(near))}
        return all_needs[step_id]

    return {step.id: needs(step.id) for step in plan.steps}


def test_a_second_try_is_counted_and_knows_why(make_plan: MakePlan) -> None:
    progress = PlanProgress(make_plan(a=""))
    progress.start("a")
    progress.retry("a", "no network")
    assert (progress["a"].status, progress["a"].tries, progress["a"].reason) == ("running", 2, "no network")
    progress.complete("a", "done")
    assert (progress["a"].text, progress["a"].reason) == ("done", "")


def test_a_step_skipped_for_one_failure_keeps_its_reason_after_the_next(make_plan: MakePlan) -> None:
    progress = PlanProgress(make_plan(a="", b="", c="a b"))
    progress.start("a")
    progress.start("b")
    progress.fail("a", "first")
    assert progress.fail("b", "second") == []
    assert "first" in progress["c"].reason


def test_a_plan_is_finished_when_nothing_is_pending_or_running(make_plan: MakePlan) -> None:
    progress = PlanProgress(make_plan(a="", b="a", c=""))
    progress.start("a")
    progress.fail("a", "broken")
    assert not progress.is_finished
    progress.start("c")
    assert not progress.is_finished
    progress.complete("c", "")
    assert progress.is_finished


def test_cancelling_stops_what_is_not_over(make_plan: MakePlan) -> None:
    progress = PlanProgress(make_plan(a="", b="", c="b"))
    run(progress, "a")
    progress.start("b")
    assert ids(progress.cancel_unfinished()) == "b c"
    assert [progress[i].status for i in "abc"] == ["completed", "cancelled", "cancelled"]
    assert progress.is_finished
    assert progress.cancel_unfinished() == []


@pytest.mark.parametrize("change", ["complete", "fail", "retry"])
def test_only_a_running_step_can_end(make_plan: MakePlan, change: str) -> None:
    progress = PlanProgress(make_plan(a=""))
    with pytest.raises(ValueError, match="'a' is pending, not running"):
        getattr(progress, change)("a", "text")


def test_a_step_that_is_not_ready_cannot_start(make_plan: MakePlan) -> None:
    progress = PlanProgress(make_plan(a="", b="a"))
    progress.start("a")
    for step_id in "ab":
        with pytest.raises(ValueError, match="is not ready"):
            progress.start(step_id)
    with pytest.raises(KeyError):
        progress.start("z")


@pytest.mark.parametrize("states", [{}, {"z": {"status": "pending"}}])
def test_a_state_of_other_steps_is_refused(make_plan: MakePlan, states: dict[str, Any]) -> None:
    data = {**PlanProgress(make_plan(a="")).to_json(), "states": states}
    with pytest.raises(StateError, match="plan_1"):
        PlanProgress.from_json(data)


@given(st.from_type(Plan), st.data())
def test_any_plan_runs_to_its_end_in_an_order_that_respects_every_dependency(plan: Plan, data: st.DataObject) -> None:
    progress, done = PlanProgress(plan), set[str]()
    while ready := progress.list_ready():
        assert [s.id for s in ready] == [s.id for s in plan.steps if s.id not in done and done.issuperset(s.depends_on)]
        step = data.draw(st.sampled_from(ready))
        run(progress, step.id)
        done.add(step.id)
    assert progress.is_finished
    assert done == {step.id for step in plan.steps}


@given(st.from_type(Plan), st.data())
def test_any_failure_skips_exactly_the_descendants(plan: Plan, data: st.DataObject) -> None:
    unlucky = data.draw(st.sampled_from([step.id for step in plan.steps]))
    progress, needs = PlanProgress(plan), needs_of(plan)
    skipped: list[str] = []
    while ready := progress.list_ready():
        progress.start(ready[0].id)
        if ready[0].id == unlucky:
            skipped = [each.step.id for each in progress.fail(unlucky, "bad luck")]
        else:
            progress.complete(ready[0].id, "")
    assert skipped == [step.id for step in plan.steps if unlucky in needs[step.id]]
    for step in plan.steps:
        expected = "failed" if step.id == unlucky else "skipped" if step.id in skipped else "completed"
        assert progress[step.id].status == expected


@given(st.from_type(Plan), st.data())
def test_progress_survives_json_wherever_it_stands(plan: Plan, data: st.DataObject) -> None:
    progress = PlanProgress(plan)
    for change in data.draw(st.lists(st.sampled_from(["complete", "fail", "retry", "stop"]), max_size=8)):
        running, ready = progress.list_running(), progress.list_ready()
        if change != "stop" and running:
            getattr(progress, change)(running[0].id, "text")
        elif ready:
            progress.start(ready[0].id)
    restored = PlanProgress.from_json(json.loads(json.dumps(progress.to_json())))
    assert restored.to_json() == progress.to_json()
    assert (restored.list_ready(), restored.list_running()) == (progress.list_ready(), progress.list_running())
