"""A turn with a plan is suspended, written out, read back, and goes on where it stopped."""

import json

from sophon import Decision, Risk, ToolCall, tool
from sophon.errors import BadRequest
from sophon.events import ApprovalRequested, PlanProposed, ToolCallStarted
from sophon_middlewares.outer.planning.plan_state import PLAN_STATE

MEDIUM = {"estimated_risk": "medium"}


@tool(risk=Risk.HIGH)
def send() -> str:
    return "sent"


@tool
def note() -> str:
    return "noted"


async def suspended(s, **facts):
    """Run until it is suspended."""
    ctx = s.turn(**facts)
    assert (await s.go(ctx)).finish_reason == "suspended"
    return ctx


async def test_a_plan_that_waits_for_its_approval_is_asked_about_again_under_the_same_id(stage, plan, gate):
    person = gate(Decision.suspend(), Decision.approve())
    s = stage(plans=[plan(a=MEDIUM, b="a")], gate=person)
    ctx = await suspended(s)
    assert not s.steps()
    response = await s.resume(ctx)
    assert response.text == "the answer"
    assert person.asked[0].id == person.asked[1].id
    assert len(s.asked("plan")) == len(s.events.of(PlanProposed)) == len(s.events.of(ApprovalRequested)) == 1
    assert s.steps("completed") == ["a", "b"]


async def test_a_plan_may_be_suspended_many_times(stage, plan, gate):
    s = stage(plans=[plan(a=MEDIUM, b="")], gate=gate(Decision.suspend(), Decision.suspend(), Decision.reject("no")))
    ctx = await suspended(s)
    ctx = s.services.restore(json.loads(json.dumps(ctx.state())))
    assert (await s.go(ctx)).finish_reason == "suspended"
    assert (await s.resume(ctx)).finish_reason == "rejected"


def with_a_call_that_waits(stage, plan, gate, **more):
    return stage(
        plans=[plan(quick="", risky="", after="risky", other="quick")],
        tools=[send, note],
        gate=gate(Decision.suspend(), Decision.approve()),
        work={
            "do quick": [[ToolCall("1", "note")], "quick is done"],
            "do risky": [[ToolCall("1", "note"), ToolCall("2", "send")], "risky is done"],
        },
        **more,
    )


async def test_what_does_not_need_a_waiting_step_goes_on_before_the_turn_is_suspended(stage, plan, gate):
    s = with_a_call_that_waits(stage, plan, gate)
    ctx = s.turn()
    response = await s.go(ctx)
    assert response.finish_reason == "suspended"
    assert [call.name for call in response.tool_calls] == ["send"]
    assert "send" in response.text
    assert s.steps() == [
        "quick running", "risky running", "quick completed", "other running", "other completed",
    ]  # fmt: skip
    assert not s.asked("reply")


async def test_a_turn_suspended_in_the_middle_of_a_plan_goes_on_with_each_tool_run_once(stage, plan, gate):
    s = with_a_call_that_waits(stage, plan, gate)
    ctx = await suspended(s)
    response = await s.resume(ctx)
    assert response.text == "the answer"
    assert sorted(event.tool for event in s.events.of(ToolCallStarted)) == ["note", "note", "send"]
    assert sorted(s.steps("completed")) == ["after", "other", "quick", "risky"]
    assert s.steps("running") == ["quick", "risky", "other", "after"]
    assert len(s.asked("plan")) == 1
    assert response.usage.total_tokens == 20 * len(s.model.requests)
    assert "risky is done" in next(prompt for prompt in s.prompts("step") if prompt.startswith("do after"))
    assert "quick is done" in s.prompts("reply")[0]


async def test_a_step_is_tried_again_after_a_resume_as_before(stage, plan, gate):
    s = stage(
        plans=[plan(a="", b="")],
        tools=[send],
        gate=gate(Decision.suspend(), Decision.approve()),
        work={"do a": [[ToolCall("1", "send")], BadRequest("shut"), "by another way"]},
    )
    await s.resume(await suspended(s))
    assert sorted(s.steps("completed")) == ["a", "b"]
    assert "A first try failed: shut" in s.prompts("step")[-1]


async def test_a_plan_within_a_step_is_suspended_and_goes_on_too(stage, plan, gate):
    several = {"description": "first read it and then write it"}
    s = stage(
        plans=[plan(a=several, b=""), plan(c="", d="")],
        tools=[send],
        gate=gate(Decision.suspend(), Decision.approve()),
        work={"do c": [[ToolCall("1", "send")], "c is done"]},
    )
    response = await s.resume(await suspended(s))
    assert response.text == "the answer"
    assert len(s.asked("plan")) == 2
    assert [event.tool for event in s.events.of(ToolCallStarted)] == ["send"]


async def test_the_state_of_a_plan_that_runs_holds_the_steps_that_run(stage, plan):
    states = []

    async def look(request) -> str:
        states.append(json.loads(json.dumps(ctx.state())))
        return "looked"

    s = stage(plans=[plan(a="", b="a")], work={"do a": [look]})
    ctx = s.turn()
    await s.go(ctx)
    work = s.services.restore(states[0]).get(PLAN_STATE)
    assert [step.id for step in work.progress.list_running()] == ["a"]
    assert work.saved_turns["a"]["run_id"] == f"{ctx.run_id}/a"
    assert (await s.go(s.services.restore(states[0]))).text == "the answer"


async def test_a_turn_without_a_plan_gets_none_when_it_is_resumed(stage, gate):
    s = stage(
        replies=[[ToolCall("1", "send")], "sent it"], tools=[send], gate=gate(Decision.suspend(), Decision.approve())
    )
    ctx = await suspended(s, text="Send it.")
    state = json.loads(json.dumps(ctx.state()))
    state["planning"] = "Always"
    response = await s.go(s.services.restore(state))
    assert response.text == "sent it"
    assert not s.asked("plan")


async def test_a_turn_without_a_plan_that_is_taken_up_between_two_rounds_gets_none_either(stage):
    states = []

    async def look(request) -> str:
        states.append(json.loads(json.dumps(ctx.state())))
        return "noted it"

    s = stage(replies=[[ToolCall("1", "note")], look], tools=[note])
    ctx = s.turn("Note it.")
    await s.go(ctx)
    response = await s.go(s.services.restore({**states[0], "planning": "Always"}))
    assert response.text == "noted it"
    assert not s.asked("plan")
