"""The goal engine: plans, steps as runs, what it does after failures, and what people may do meanwhile."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sophon import Decision
from sophon.errors import BudgetExceeded, IllegalTransition
from sophon_hosting.features.goals import engine
from sophon_hosting.features.goals.events import GoalChanged
from sophon_hosting.features.goals.steps import step_work
from sophon_hosting.features.goals.steps.step_runs import build_step_request
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.tasks.results import task_to_json
from sophon_hosting.runs.run_acceptance import RunRequest
from tests.hosting.features.goals.conftest import World, plan, step


async def test_a_goal_is_planned_worked_on_and_reported(world: World):
    world.plans = [plan(step("a", "note", text="one"), step("b", "note", needs=["a"], text="{{a}} and two"))]
    await world.start()
    goal = await world.create(description="Keep one, then two")
    done = await world.ended(goal)
    assert (done.state, done.progress, world.kept) == ("completed", 100, ["one", "kept one and two"])
    assert await world.states() == ["planning", "active", "completed"]
    assert [(event.step, event.step_status) for event in world.events.of(GoalChanged) if event.step] == [
        *(("a", "running"), ("a", "done"), ("b", "running"), ("b", "done")),
    ]
    await world.until(goal, lambda found: found.reported)
    (report,) = await world.store.runs.list(session_id="chat")
    assert report.text.splitlines()[0] == "[AUTO-DETECTED: goal completed]"
    assert report.owner == "ada"


async def test_a_step_without_a_tool_is_a_turn_of_the_agent(world: World):
    world.plans = [plan(step("a", "note", text="one"), step("b", needs=["a"]))]
    await world.start()
    done = await world.ended(await world.create())
    assert done.get_node("b").result == "done: Do b"
    asked = next(request for request in world.asked if request.purpose == "reply").messages[-1].content
    assert "kept one" in asked
    assert "This is one step of the goal: Errand" in asked


async def test_steps_of_a_tick_are_at_most_three_and_the_next_tick_goes_on(world: World):
    world.plans = [plan(*(step(f"s{n}", "note", text=str(n)) for n in range(5)))]
    await world.start()
    goal = await world.create()
    begin = world.clock.now()
    await world.until(goal, lambda found: sum(node.status == "done" for node in found.nodes) == 3)
    assert world.clock.now() - begin < timedelta(seconds=15)
    await world.ended(goal)
    assert timedelta(seconds=15) <= world.clock.now() - begin < timedelta(seconds=30)


class Failing(dict[str, str]):
    """Errors of texts, each of them once."""

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        return self.pop(key, default)  # type: ignore[arg-type]


async def test_a_failed_step_is_tried_again_and_the_next_try_is_another_run(world: World):
    world.plans = [plan(step("a", "note", text="one"))]
    world.broken = Failing(one="no room")
    await world.start()
    goal = await world.create()
    done = await world.ended(goal)
    assert (done.state, done.nodes[0].tries, world.kept) == ("completed", 2, ["one"])
    assert len(await world.store.runs.list(session_id=goal.work_session_id)) == 2


async def test_the_same_error_three_times_pauses_and_nobody_resumes_so_the_goal_fails(world: World):
    world.plans = [plan(step("a", "note", text="one"))]
    world.broken = {"one": "no room"}
    await world.start()
    goal = await world.create()
    paused = await world.in_state(goal, "paused")
    assert (paused.pause_kind, paused.nodes[0].tries) == ("oscillation", 3)
    at = world.clock.now()
    failed = await world.until(goal, lambda found: not found.is_live, step_seconds=30)
    assert (failed.state, "nobody resumed it" in failed.reason) == ("failed", True)
    assert timedelta(minutes=10) <= world.clock.now() - at < timedelta(minutes=11)


async def test_four_failures_in_a_row_back_off_and_go_on_by_themselves(world: World):
    world.plans = [plan(step("a", "note", text="one"), step("b", "note", text="two"))]
    errors = iter(["no room", "no ink", "no light", "no time"])
    world.broken = {}
    await world.start()

    class Failing(dict[str, str]):
        def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
            return next(errors, None)

    world.broken = Failing()
    goal = await world.create()
    paused = await world.in_state(goal, "paused")
    assert (paused.pause_kind, paused.resume_at is not None) == ("back_off", True)
    assert paused.resume_at - paused.paused_at == timedelta(seconds=2)  # type: ignore[operator]
    assert (await world.ended(goal)).state != "cancelled"


async def test_another_plan_is_made_until_a_step_is_done_and_then_only_failed_steps_are_retried(world: World):
    world.plans = [
        plan(step("a", "note", text="bad")),
        plan(step("x", "note", text="good"), step("y", "note", text="late")),
    ]
    errors = {"bad": iter(["one", "two", "three"]), "late": iter(["four", "five", "six"])}

    class Failing(dict[str, str]):
        def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
            return next(errors.get(key, iter(())), None)

    await world.start()
    world.broken = Failing()
    done = await world.ended(await world.create())
    assert (done.state, done.plan_number, done.spent.replans) == ("completed", 2, 2)
    assert world.kept == ["good", "late"]
    assert done.get_node("y").tries == 4


@pytest.mark.parametrize(
    ("dimension", "steps", "more"),
    [
        ("Steps", 3, {"Steps": 1}),
        ("ExecutionTokens", 2, {"ExecutionTokens": 5}),
        ("PlanningTokens", 1, {"PlanningTokens": 1}),
    ],
)
async def test_a_goal_that_has_used_up_its_budget_pauses_and_who_resumes_it_gives_it_more(
    world: World, dimension: str, steps: int, more: dict[str, int]
):
    world.settings = {"Goals": {"Budget": more}}
    world.plans = ["nonsense"] if dimension == "PlanningTokens" else [plan(*(step(f"s{n}") for n in range(steps)))]
    await world.start()
    goal = await world.create()
    if dimension == "PlanningTokens":
        assert "no plan in 3 tries" in (await world.ended(goal)).reason
        return
    paused = await world.in_state(goal, "paused")
    assert paused.pause_kind == "budget"
    assert paused.reason.startswith("budget: ")
    await world.commands.resume(goal.id, "ada", by="ada")
    again = await world.until(
        goal, lambda found: found.state in ("paused", "completed") and found.progress > paused.progress
    )
    assert again.limits != paused.limits


async def test_a_person_pauses_a_running_step_at_once_and_resumes_it(world: World):
    world.plans = [plan(step("a", "note", text="one"))]
    world.held = asyncio.Event()
    await world.start()
    goal = await world.create()
    await world.until(goal, lambda found: bool(world.kept))
    await world.commands.pause(goal.id, "ada", by="ada")
    paused = await world.until(
        goal, lambda found: bool(found.nodes) and found.nodes[0].status == "pending", step_seconds=0
    )
    assert (paused.state, paused.pause_kind, paused.nodes[0].retries) == ("paused", "person", 0)
    (run,) = await world.store.runs.list(session_id=goal.work_session_id)
    assert run.status == "cancelled"
    await world.clock.advance(3600)
    assert (await world.get(goal)).state == "paused"
    world.held.set()
    await world.commands.resume(goal.id, "ada", by="ada")
    assert (await world.ended(goal)).state == "completed"


async def test_a_cancelled_goal_stops_its_step_and_reports_nothing(world: World):
    world.plans = [plan(step("a", "note", text="one"))]
    world.held = asyncio.Event()
    await world.start()
    goal = await world.create()
    await world.until(goal, lambda found: bool(world.kept))
    await world.commands.cancel(goal.id, "ada", by="ada")
    await world.until(goal, lambda found: found.nodes[0].status == "pending", step_seconds=0)
    (run,) = await world.store.runs.list(session_id=goal.work_session_id)
    assert run.status == "cancelled"
    assert await world.store.runs.list(session_id="chat") == []
    with pytest.raises(IllegalTransition):
        await world.commands.resume(goal.id, "ada", by="ada")


async def test_a_step_that_waits_for_a_person_holds_no_place_and_other_goals_go_on(world: World):
    world.settings = {"Goals": {"MaxConcurrent": 1}, "Approval": {"Timeout": "12:00:00"}}
    world.plans = [plan(step("a", "pay", text="high")), plan(step("b", "note", text="low"))]
    await world.start()
    first = await world.create("First")
    await world.until(first, lambda found: any(node.waits for node in found.nodes))
    second = await world.create("Second")
    assert (await world.ended(second)).state == "completed"
    assert world.kept == ["low"]
    assert (await world.get(first)).get_node("a").waits
    await world.decide(first, Decision.approve())
    assert (await world.ended(first)).state == "completed"
    assert world.kept == ["low", "high"]


async def test_a_step_that_a_person_rejects_is_not_tried_again_by_itself(world: World):
    world.plans = [plan(step("a", "pay", text="high"))]
    await world.start()
    goal = await world.create()
    await world.decide(goal, Decision.reject("no"))
    paused = await world.in_state(goal, "paused")
    assert (paused.pause_kind, paused.get_node("a").tries, world.kept) == ("denied", 1, [])


@pytest.mark.parametrize("calls", [["pay"], ["pay", "note"]], ids=["it answers", "it finds another way"])
async def test_a_rejected_call_of_an_agent_pauses_its_goal_whatever_the_agent_makes_of_it(
    world: World, calls: list[str]
):
    world.plans = [plan(step("a"), step("b", "note", needs=["a"], text="two"))]
    world.agent_calls = calls
    await world.start()
    goal = await world.create()
    await world.decide(goal, Decision.reject("not today"))
    paused = await world.in_state(goal, "paused")
    assert (paused.pause_kind, paused.reason) == ("denied", "step a: a call of pay was denied: not today")
    assert (paused.get_node("a").tries, world.kept) == (1, ["one"] * (len(calls) - 1))
    await world.commands.resume(goal.id, "ada", by="ada")
    await world.decide(goal, Decision.approve())
    assert (await world.ended(goal)).state == "completed"


async def test_a_call_of_an_agent_that_nobody_decided_in_time_pauses_its_goal(world: World):
    world.settings = {"Approval": {"Timeout": "00:00:30"}}
    world.plans, world.agent_calls = [plan(step("a"))], ["pay"]
    await world.start()
    paused = await world.in_state(await world.create(), "paused")
    assert (paused.pause_kind, "nobody decided within 30 seconds" in paused.reason) == ("denied", True)
    assert (paused.get_node("a").tries, world.kept) == (1, [])


async def test_a_call_of_an_agent_that_failed_is_the_agents_to_deal_with(world: World):
    world.plans, world.agent_calls = [plan(step("a"))], ["note"]
    world.broken = {"one": "no room"}
    await world.start()
    done = await world.ended(await world.create())
    assert (done.state, done.get_node("a").result, done.get_node("a").tries) == ("completed", "done: error: no room", 1)


@pytest.mark.parametrize(("autonomy", "asks"), [("assist", ["note", "pay"]), ("semi", ["pay"]), ("full", [])])
async def test_the_autonomy_of_a_goal_decides_which_of_its_steps_ask(world: World, autonomy: str, asks: list[str]):
    world.plans = [plan(step("a", "note", text="one"), step("b", "pay", needs=["a"], text="two"))]
    await world.start()
    goal = await world.create(autonomy=autonomy)
    asked: list[str] = []
    for name in asks:
        asked.append(await world.decide(goal, Decision.approve()))
        await world.until(goal, lambda found, tool=name: all(n.status == "done" for n in found.nodes if n.tool == tool))
    assert (await world.ended(goal)).state == "completed"
    assert (asked, world.kept) == (asks, ["one", "two"])


async def test_goals_of_higher_priority_are_worked_on_first(world: World):
    world.settings = {"Goals": {"MaxConcurrent": 1}}
    world.plans = [plan(step("a", "note", text="first")), plan(step("a", "note", text="second"))]
    host, engine = await world.start()
    await engine.stop()
    low = await world.create("Low", priority="autonomous")
    high = await world.create("High", priority="user")
    engine.start()
    await world.ended(high)
    await world.ended(low)
    await host.event_bus.flush("chat")
    titles = [event.title for event in world.events.of(GoalChanged) if event.state == "active" and not event.step]
    assert titles == ["High", "Low"]


async def test_the_critic_can_correct_and_reject_a_plan(world: World):
    world.settings = {"Goals": {"Review": True}}
    bad, good = plan(step("a", "note", text="bad")), plan(step("b", "note", text="good"))
    world.plans = [bad, good]
    world.reviews = ['{"verdict": "rejected", "issues": ["it keeps the wrong note"]}', '{"verdict": "ok"}']
    await world.start()
    done = await world.ended(await world.create())
    assert (done.state, world.kept) == ("completed", ["good"])
    again = [request for request in world.asked if request.purpose == "plan"][2]
    assert "it keeps the wrong note" in again.messages[-1].content


async def test_a_model_that_is_down_is_asked_again_later(world: World):
    world.settings = {"Failover": {"MaxRetries": 0}}
    world.plans = ["down", plan(step("a", "note", text="one"))]
    await world.start()
    goal = await world.create()
    paused = await world.in_state(goal, "paused")
    assert paused.pause_kind == "back_off"
    assert (await world.ended(goal)).state == "completed"


async def test_a_goal_cannot_spend_what_its_user_has_not(world: World):
    world.settings = {"Budget": {"Providers": {"*": {"DailyTokens": 1}}}}
    world.plans = [plan(step("a", "note", text="one"))]
    await world.start()
    paused = await world.in_state(await world.create(), "paused")
    assert paused.pause_kind == "refused"
    assert world.asked == []


async def test_a_person_has_ten_goals_at_most(world: World):
    world.plans = [plan(step("a", "pay", text="one"))]
    await world.start()
    for number in range(10):
        await world.create(f"Goal {number}")
    with pytest.raises(BudgetExceeded, match="ActiveGoals"):
        await world.create("One more")
    assert len(await stored_goals(world.store).list(owner="ada")) == 10


@pytest.mark.parametrize(
    ("limit", "tick", "window"),
    [
        ("TasksPerHour", "00:15:00", timedelta(hours=1)),
        ("ApiCallsPerMinute", "00:00:15", timedelta(minutes=1)),
    ],
)
async def test_the_governor_holds_back_steps_of_one_user_and_not_of_another(
    world: World, limit: str, tick: str, window: timedelta
):
    world.settings = {"Goals": {"Tick": tick, "Limits": {limit: 1}}}  # a few looks within the window are enough
    world.plans = [plan(step("a", "fetch", text="one"), step("b", "fetch", needs=["a"], text="two"))]
    await world.start()
    goal = await world.create()
    held = await world.until(goal, lambda found: found.reason.startswith("waits: 1/1"))
    assert held.get_node("a").status == "done"
    other = await world.commands.create(owner="bob", title="Other")
    await world.until(other, lambda found: bool(found.nodes) and found.get_node("a").status == "done")
    begin = held.get_node("a").started_at
    assert begin is not None
    done = await world.until(goal, lambda found: not found.is_live, step_seconds=window.total_seconds() / 4)
    second = done.get_node("b").started_at
    assert (done.state, second is not None and second - begin >= window) == ("completed", True)


async def test_a_restarted_host_takes_up_a_goal_in_the_middle_of_a_step_and_its_effect_is_there_once(world: World):
    world.plans = [plan(step("a", "note", text="one"), step("b", "note", needs=["a"], text="two"))]
    world.held = asyncio.Event()
    await world.start()
    goal = await world.create()
    await world.until(goal, lambda found: bool(world.kept))
    await world.stop()
    world.held = None
    await world.start()
    paused = await world.in_state(goal, "paused")
    assert (paused.pause_kind, "unknown" in paused.reason, world.kept) == ("denied", True, ["one"])
    await world.commands.resume(goal.id, "ada", by="ada")
    assert (await world.ended(goal)).state == "completed"
    assert world.kept == ["one", "one", "two"]  # a person has decided to try it again


async def test_a_call_of_an_agent_that_was_cut_off_pauses_its_goal_whatever_the_agent_makes_of_it(world: World):
    world.plans = [plan(step("note"), step("b", "note", needs=["note"], text="two"))]
    world.held, world.agent_calls = asyncio.Event(), ["note"]
    await world.start()
    goal = await world.create()
    await world.until(goal, lambda found: bool(world.kept))
    await world.stop()
    world.held = None
    await world.start()
    paused = await world.in_state(goal, "paused")
    assert (paused.pause_kind, "note was interrupted" in paused.reason, world.kept) == ("denied", True, ["one"])
    await world.commands.resume(goal.id, "ada", by="ada")
    assert (await world.ended(goal)).state == "completed"
    assert world.kept == ["one", "one", "two"]  # a person has decided to try it again


async def test_a_step_whose_acceptance_was_cut_off_is_accepted_once(world: World):
    """The host was killed after the step was noted as running, before or after its run was accepted."""
    world.plans = [plan(step("a", "note", text="one"))]
    await world.start()
    goal = await world.create()
    done = await world.ended(goal)
    await world.stop()
    cut = replace(done, state="active", finished_at=None, reported=False, next_at=world.clock.now())
    cut = replace(cut, nodes=(replace(done.nodes[0], status="running", run_id="", result=""),))
    # The report may have been noted while the host stopped.
    assert await stored_goals(world.store).change(replace(cut, version=(await world.get(goal)).version)) is not None
    await world.start()
    again = await world.ended(goal)
    assert (again.state, again.nodes[0].result, world.kept) == ("completed", "kept one", ["one"])


async def test_without_the_key_of_its_try_the_step_would_have_run_twice(world: World, monkeypatch: pytest.MonkeyPatch):
    def build_without_key(*arguments: Any) -> RunRequest:
        return replace(build_step_request(*arguments), external_id=None)

    monkeypatch.setattr(step_work, "build_step_request", build_without_key)
    world.plans = [plan(step("a", "note", text="one"))]
    await world.start()
    goal = await world.create()
    done = await world.ended(goal)
    await world.stop()
    cut = replace(done, state="active", finished_at=None, reported=True, next_at=world.clock.now())
    cut = replace(cut, nodes=(replace(done.nodes[0], status="running", run_id="", result=""),))
    assert await stored_goals(world.store).change(replace(cut, version=(await world.get(goal)).version)) is not None
    await world.start()
    await world.ended(goal)
    assert world.kept == ["one", "one"]


async def test_two_hosts_never_advance_a_goal_twice(world: World):
    world.plans = [plan(*(step(f"s{n}", "note", text=str(n)) for n in range(4)))]
    await world.start()
    await world.start()
    done = await world.ended(await world.create())
    assert done.state == "completed"
    assert sorted(world.kept) == ["0", "1", "2", "3"]
    assert done.spent.steps == 4


async def test_parallel_steps_have_sessions_of_their_own(world: World):
    world.settings = {"Goals": {"Budget": {"Parallel": 2}}}
    world.plans = [plan(step("a", "note", text="one"), step("b", "note", text="two"))]
    world.held = asyncio.Event()
    await world.start()
    goal = await world.create()
    found = await world.until(goal, lambda found: len(world.kept) == 2)
    assert {node.session_id for node in found.nodes} == set(found.list_work_sessions())
    world.held.set()
    assert (await world.ended(goal)).state == "completed"


async def test_an_ended_goal_is_archived_after_a_while(world: World, monkeypatch: pytest.MonkeyPatch):
    for name in ("ARCHIVE_AFTER", "ARCHIVE_INTERVAL"):
        monkeypatch.setattr(engine, name, timedelta(hours=1))
    world.plans = [plan(step("a", "note", text="one"))]
    await world.start()
    goal = await world.create()
    done = await world.ended(goal)
    archived = await world.until(goal, lambda found: found.state == "archived", step_seconds=900)
    assert (archived.finished_at, archived.reason) == (done.finished_at, done.reason)


async def test_the_task_of_a_step_says_of_which_goal_and_step_it_is(world: World):
    world.plans = [plan(step("a", "note", text="one"))]
    await world.start()
    goal = await world.create()
    await world.ended(goal)
    await world.until(goal, lambda found: found.reported)
    for whole in (True, False):
        tasks = [task_to_json(run) for run in await world.store.runs.list(whole=whole)]
        origins = {task["session_id"]: task["origin"] for task in tasks}
        assert origins == {goal.work_session_id: {"kind": "goal", "goal_id": goal.id, "step": "a"}, "chat": None}
