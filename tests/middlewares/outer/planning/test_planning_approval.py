"""A risky plan is shown once, and what the answer covers."""

import pytest

from sophon import Decision, Risk, ToolCall, tool
from sophon.events import AgentStatus, ApprovalRequested, ApprovalResolved, PlanProposed
from sophon.plans import Plan, PlanStep
from sophon.settings import ApprovalSettings
from sophon_middlewares.outer.plan.plan_approval import format_preview, initial_approval_status

MEDIUM = {"estimated_risk": "medium"}
HIGH = {"estimated_risk": "high"}


@tool(risk=Risk.HIGH)
def send() -> str:
    return "sent"


@tool(risk=Risk.CRITICAL)
def erase() -> str:
    return "erased"


class Nobody:
    """Never answers."""

    def __init__(self, clock) -> None:
        self.clock = clock

    async def request(self, request):
        await self.clock.sleep(10**6)
        raise AssertionError("time-outs come first")


async def test_a_plan_of_harmless_steps_asks_nobody(stage, plan, gate):
    person = gate(Decision.reject())
    s = stage(plans=[plan(a="", b="")], gate=person)
    await s.run()
    assert not person.asked
    assert s.steps("completed") == ["a", "b"]


async def test_a_plan_with_a_risky_step_is_shown_once_and_waits(stage, plan, gate):
    person = gate(Decision.approve())
    s = stage(plans=[plan(a=MEDIUM, b=MEDIUM, c="")], gate=person)
    await s.run()
    (asked,) = person.asked
    (proposed,) = s.events.of(PlanProposed)
    assert (asked.kind, asked.tool, asked.risk, asked.editable) == ("plan", "plan", Risk.MEDIUM, False)
    assert asked.arguments == proposed.plan
    assert s.steps("completed") == ["a", "b", "c"]


async def test_nothing_runs_before_the_answer(stage, plan, gate):
    s = stage(plans=[plan(a=MEDIUM, b="")], gate=gate(Decision.approve()))
    await s.run()
    told = [type(event).__name__ for event in s.events.events]
    assert told.index("ApprovalResolved") < told.index("PlanStepChanged")
    assert "waiting_approval" in [event.status for event in s.events.of(AgentStatus)]


async def test_the_preview_is_the_hosts_own_and_names_every_step_with_its_risk():
    steps = (
        PlanStep("a", "write it\ndown", (), ("memory.write",), Risk.MEDIUM),
        PlanStep("b", "x" * 400, ("a",), (), Risk.LOW),
    )
    lines = format_preview(Plan("plan_1", "remember", steps)).splitlines()
    assert lines[0] == "Run a plan of 2 steps: remember"
    assert lines[1] == "  1. a: write it down (risk medium; tools memory.write)"
    assert lines[2].endswith("x… (400 characters) (risk low; after a)")


async def test_an_approved_plan_covers_what_its_steps_declared(stage, plan, gate):
    person = gate(Decision.approve())
    s = stage(plans=[plan(a=HIGH, b="")], tools=[send], gate=person, work={"do a": [[ToolCall("1", "send")], "done"]})
    await s.run()
    assert [asked.kind for asked in person.asked] == ["plan"]
    assert any(m.content == "sent" for r in s.asked("step") for m in r.messages if m.role == "tool")


@pytest.mark.parametrize(("declared", "tool_"), [("medium", "send"), ("high", "erase")])
async def test_a_call_above_what_its_step_declared_is_still_asked_about(stage, plan, gate, declared, tool_):
    person = gate(Decision.approve(), Decision.reject("not that"))
    s = stage(
        plans=[plan(a={"estimated_risk": declared}, b=HIGH)],
        tools=[send, erase],
        gate=person,
        work={"do a": [[ToolCall("1", tool_)], "done"]},
    )
    await s.run()
    assert [(asked.kind, asked.tool) for asked in person.asked] == [("plan", "plan"), ("tool", tool_)]
    assert any(m.content == "denied: not that" for r in s.asked("step") for m in r.messages)


async def test_a_plan_that_nobody_was_asked_about_covers_no_call(stage, plan, gate):
    person = gate(Decision.reject("no"))
    s = stage(plans=[plan(a="", b="")], tools=[send], gate=person, work={"do a": [[ToolCall("1", "send")], "done"]})
    await s.run()
    assert [asked.kind for asked in person.asked] == ["tool"]


async def test_where_every_call_is_asked_about_a_plan_that_nobody_saw_changes_nothing(stage, plan, gate):
    @tool(risk=Risk.LOW)
    def note() -> str:
        return "noted"

    person = gate(Decision.approve())
    s = stage(
        plans=[plan(a="", b="")],
        tools=[note],
        gate=person,
        settings={"Approval": {"AskFrom": "Low"}},
        work={"do a": [[ToolCall("1", "note")], "done"]},
    )
    await s.run()
    assert [asked.kind for asked in person.asked] == ["tool"]


async def test_a_step_is_as_risky_as_the_tools_it_names_whatever_the_model_says(stage, plan, gate):
    person = gate(Decision.reject())
    s = stage(plans=[plan(a={"estimated_risk": "none", "tool_hints": ["send"]}, b="")], tools=[send], gate=person)
    await s.run()
    (asked,) = person.asked
    assert asked.risk is Risk.HIGH
    assert asked.arguments["steps"][0]["estimated_risk"] == "high"


async def test_a_rejected_plan_runs_nothing_and_says_so_with_the_reason(stage, plan, gate):
    s = stage(plans=[plan(a=MEDIUM, b="")], gate=gate(Decision.reject("not today")))
    response = await s.run()
    assert response.finish_reason == "rejected"
    assert "not today" in response.text
    assert [request.purpose for request in s.model.requests] == ["plan"]
    assert not s.steps()


async def test_a_plan_cannot_be_edited(stage, plan, gate):
    s = stage(plans=[plan(a=MEDIUM, b="")], gate=gate(Decision.edit({"steps": []})))
    response = await s.run()
    assert response.finish_reason == "rejected"
    assert "cannot be edited" in response.text


@pytest.mark.parametrize("on_timeout", ["Deny", "Halt"])
async def test_silence_rejects_the_plan(stage, plan, on_timeout):
    s = stage(plans=[plan(a=MEDIUM, b="")], settings={"Approval": {"OnTimeout": on_timeout}})
    s.services.approvals = Nobody(s.clock)
    response = await s.run()
    (resolved,) = s.events.of(ApprovalResolved)
    assert (response.finish_reason, resolved.decided_by) == ("rejected", "expiry")
    assert "5 minutes" in response.text
    assert s.clock.monotonic() == 300


async def test_silence_parks_the_plan_where_the_settings_say_so(stage, plan):
    s = stage(plans=[plan(a=MEDIUM, b="")], settings={"Approval": {"OnTimeout": "Park"}})
    s.services.approvals = Nobody(s.clock)
    response = await s.run()
    assert response.finish_reason == "suspended"
    assert not s.steps()


async def test_silence_about_a_call_ends_the_whole_turn_where_the_settings_say_so(stage, plan):
    s = stage(
        plans=[plan(a="", b="", c="b")],
        tools=[send],
        settings={"Approval": {"OnTimeout": "Halt"}},
        work={"do a": [[ToolCall("1", "send")], "done"]},
    )
    s.services.approvals = Nobody(s.clock)
    response = await s.run()
    assert response.finish_reason == "rejected"
    assert "send" in response.text
    assert s.steps("cancelled") == ["a"]
    assert not s.asked("reply")


async def test_a_plan_within_an_approved_step_asks_nobody_again(stage, plan, gate):
    person = gate(Decision.approve(), Decision.reject())
    several = {"description": "first read it and then write it", **HIGH}
    s = stage(
        plans=[plan(a=several, b=""), plan(c=HIGH, d="")],
        tools=[send],
        gate=person,
        work={"do c": [[ToolCall("1", "send")], "done"]},
    )
    await s.run()
    assert [asked.kind for asked in person.asked] == ["plan"]
    assert sorted(s.steps("completed")) == ["a", "b", "c", "d"]


async def test_a_plan_within_a_step_that_is_riskier_than_the_step_is_shown(stage, plan, gate):
    person = gate(Decision.approve(), Decision.reject("too much"))
    several = {"description": "first read it and then write it", **MEDIUM}
    s = stage(plans=[plan(a=several, b=""), plan(c=HIGH, d="")], gate=person)
    await s.run()
    assert [asked.risk for asked in person.asked] == [Risk.MEDIUM, Risk.HIGH]
    assert s.steps("failed") == ["a"]
    assert len(s.asked("plan")) == 2
    assert "too much" in s.reason("a")


@pytest.mark.parametrize(
    ("risk", "up_to", "approved", "leave"),
    [
        (Risk.LOW, None, None, "unneeded"),
        (Risk.MEDIUM, None, None, "open"),
        (Risk.MEDIUM, "Medium", None, "unneeded"),
        (Risk.HIGH, "Medium", None, "open"),
        (Risk.HIGH, None, Risk.HIGH, "given"),
        (Risk.HIGH, None, Risk.MEDIUM, "open"),
        (Risk.LOW, None, Risk.HIGH, "given"),
    ],
)
def test_who_has_to_be_asked(risk, up_to, approved, leave):
    assert initial_approval_status(risk, ApprovalSettings(auto_approve_up_to=up_to), approved) == leave


async def test_the_question_is_announced_with_all_that_a_card_shows(stage, plan, gate):
    s = stage(plans=[plan(a=MEDIUM, b="")], gate=gate(Decision.approve()))
    await s.run()
    (event,) = s.events.of(ApprovalRequested)
    assert (event.kind, event.risk, event.expires_at) == ("plan", "medium", "2026-01-01T00:05:00+00:00")
    assert "a: do a (risk medium)" in event.preview
