"""Planning in its place in the default chain: what its neighbours do for a step, and what they leave alone."""

import json

import pytest

from sophon import Decision, ModelResponse, Pipeline, Risk, ToolCall, Usage, tool
from sophon.events import TaskCompleted, TaskStarted, ToolCallStarted
from sophon_middlewares.chains import twelve


@tool(risk=Risk.HIGH)
def send() -> str:
    return "sent"


def in_the_twelve(s) -> Pipeline:
    s.pipeline = twelve(s.services)
    return s.pipeline


@pytest.fixture
def waiting(stage, plan, gate):
    """A plan of which one step waits for a person, who approves when asked again."""
    s = stage(
        plans=[plan(a="", b="a")],
        tools=[send],
        gate=gate(Decision.suspend(), Decision.approve()),
        work={"do a": [[ToolCall("1", "send")], "a is done"]},
    )
    in_the_twelve(s)
    return s


async def test_a_turn_that_is_suspended_in_its_plan_is_recorded_once(waiting):
    ctx = waiting.turn()
    assert (await waiting.go(ctx)).finish_reason == "suspended"
    response = await waiting.resume(ctx)
    assert response.text == "the answer"
    assert [event.tool for event in waiting.events.of(ToolCallStarted)] == ["send"]
    assert [m.role for m in await waiting.services.history("s")] == ["user", "assistant"]
    assert len(waiting.events.of(TaskStarted)) == len(waiting.events.of(TaskCompleted)) == 1


async def test_the_journal_of_the_steps_is_forgotten_with_the_turn(waiting):
    ctx = waiting.turn()
    await waiting.go(ctx)
    assert await waiting.services.store.journal.load_entries(f"{ctx.run_id}/a") == {}
    await waiting.resume(ctx)
    assert await waiting.services.store.journal.load_entries(f"{ctx.run_id}/a") == {}


async def test_steps_and_plan_calls_count_against_the_budget_of_the_turn(stage, plan):
    dear = ModelResponse("a is done", usage=Usage(49_000, 900))
    s = stage(
        plans=[plan(a="", b="a", c="b")], work={"do a": [dear]}, settings={"Budget": {"Turn": {"Tokens": 50_000}}}
    )
    in_the_twelve(s)
    response = await s.run()
    assert response.finish_reason == "budget_exceeded"
    assert s.steps("completed") == ["a"]
    assert s.steps("cancelled") == ["b", "c"]
    assert not s.asked("reply")


async def test_a_step_is_offered_its_own_choice_of_tools(stage, plan):
    @tool
    def yak() -> str:
        return "wool"

    @tool
    def zebra() -> str:
        return "stripes"

    s = stage(plans=[plan(a={"tool_hints": ["zebra"]}, b="")], tools=[yak, zebra], settings={"ToolFilter": {"Top": 3}})
    in_the_twelve(s)
    await s.run()
    offered = {request.messages[-1].content: [t.name for t in request.tools] for request in s.asked("step")}
    assert "zebra" in offered["do a"]
    assert "zebra" not in offered["do b"]


async def test_the_answer_after_a_plan_is_part_of_the_next_turn(stage, plan):
    s = stage(plans=[plan(a="", b="")])
    in_the_twelve(s)
    await s.run()
    await s.run("And what was the answer?")
    assert [m.content for m in s.asked("reply")[-1].messages][-2:] == ["the answer", "And what was the answer?"]


async def test_a_plan_call_is_shown_what_was_said_before(stage, plan):
    s = stage(plans=[plan(a="", b="")])
    in_the_twelve(s)
    await s.run("What is the time?")
    await s.run()
    assert [message.role for message in s.asked("plan")[0].messages] == ["system", "user", "assistant", "user"]


async def test_the_state_of_a_turn_with_a_plan_is_plain_json(waiting):
    ctx = waiting.turn()
    await waiting.go(ctx)
    assert json.loads(json.dumps(ctx.state())) == ctx.state()
    restored = waiting.services.restore(ctx.state())
    assert restored.state()["extensions"]["planning.work"] == ctx.state()["extensions"]["planning.work"]
