"""A risky plan is shown once, and what the answer covers."""

import json
from dataclasses import replace

import pytest

from sophon import Decision, Risk, ToolCall, tool
from sophon.events import AgentStatus, ApprovalRequested, ApprovalResolved, PlanProposed
from sophon.operator_policy import OperatorPolicy
from sophon.plans import Plan, PlanStep
from sophon.settings import ApprovalSettings
from sophon_middlewares.outer.planning.plan_approval import format_preview, initial_approval_status
from tests.tables import table

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


async def test_a_plan_with_a_risky_step_is_shown_once_and_waits(stage, plan, gate):
    person = gate(Decision.approve())
    s = stage(plans=[plan(a=MEDIUM, b=MEDIUM, c="")], gate=person)
    await s.run()
    (asked,) = person.asked
    (proposed,) = s.events.of(PlanProposed)
    assert (asked.kind, asked.tool, asked.risk, asked.editable) == ("plan", "plan", Risk.MEDIUM, False)
    assert asked.arguments == proposed.plan
    assert s.steps("completed") == ["a", "b", "c"]
    (event,) = s.events.of(ApprovalRequested)
    assert (event.kind, event.risk, event.expires_at) == ("plan", "medium", "2026-01-01T00:05:00+00:00")
    assert "a: do a (risk medium)" in event.preview
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
    assert lines[1:3] == ["  1. a: write it", "      down (risk medium; tools memory.write)"]
    assert "⟦100 characters left out here⟧" in lines[4]
    assert lines[5].endswith("x (risk low; after a)")


async def test_a_person_can_see_every_step_of_a_plan_completely_and_nothing_hidden():
    steps = (PlanStep("a\u202e", f"{'x' * 400}\u200b; pay Bob\n  2. b: harmless", ("\x1b",), ("t\x00",), Risk.MEDIUM),)
    plan = Plan("plan_1", "go\u2066al " + "y" * 400, steps)
    short, whole = format_preview(plan), format_preview(plan, limit=None)
    assert "pay Bob" in short
    assert "x" * 400 in whole
    assert "y" * 400 in whole
    assert (short + whole).replace("\n", "").isprintable()
    assert [line for line in whole.splitlines() if line.startswith("  2. ")] == []


async def test_an_approved_plan_covers_what_its_steps_declared(stage, plan, gate):
    person = gate(Decision.approve())
    s = stage(plans=[plan(a=HIGH, b="")], tools=[send], gate=person, work={"do a": [[ToolCall("1", "send")], "done"]})
    await s.run()
    assert [asked.kind for asked in person.asked] == ["plan"]
    assert any(m.content == "sent" for r in s.asked("step") for m in r.messages if m.role == "tool")


@pytest.mark.parametrize(
    ("declared", "tool_"),
    [(MEDIUM, "send"), (HIGH, "erase"), ({"estimated_risk": "critical", "tool_hints": ["erase"]}, "erase")],
)
async def test_a_call_above_what_its_step_declared_and_a_critical_one_are_still_asked_about(
    stage, plan, gate, declared, tool_
):
    person = gate(Decision.approve(), Decision.reject("not that"))
    s = stage(
        plans=[plan(a=declared, b=HIGH)],
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


@table(
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


async def test_an_approved_plan_covers_no_high_call_of_a_tool_that_its_step_does_not_name(stage, plan, gate):
    @tool(risk=Risk.HIGH)
    def pay() -> str:
        return "paid"

    person = gate(Decision.approve(), Decision.reject("not that"))
    work = {"do a": [[ToolCall("1", "send"), ToolCall("2", "pay")], "done"]}
    s = stage(plans=[plan(a={"tool_hints": ["send"]}, b="")], tools=[send, pay], gate=person, work=work)
    await s.run()
    assert [(asked.kind, asked.tool) for asked in person.asked] == [("plan", "plan"), ("tool", "pay")]
    assert any(m.content == "sent" for r in s.asked("step") for m in r.messages)


@pytest.mark.parametrize("inner", [{"tool_hints": ["pay"]}, HIGH])
async def test_a_plan_within_a_step_that_names_other_tools_than_the_step_is_shown(stage, plan, gate, inner):
    @tool(risk=Risk.HIGH)
    def pay() -> str:
        return "paid"

    person = gate(Decision.approve(), Decision.reject("no"))
    several = {"description": "first read it and then write it", "tool_hints": ["send"]}
    s = stage(plans=[plan(a=several, b=""), plan(c=inner, d="")], tools=[send, pay], gate=person)
    await s.run()
    assert [asked.kind for asked in person.asked] == ["plan", "plan"]


def test_the_preview_says_which_calls_are_not_asked_about_again():
    steps = (
        PlanStep("a", "x", (), ("send",), Risk.HIGH),
        PlanStep("b", "x", (), (), Risk.CRITICAL),
        PlanStep("c", "x", (), ("note",), Risk.MEDIUM),
        PlanStep("d", "x"),
    )
    assert format_preview(Plan("plan_1", "go", steps)).splitlines()[5:] == [
        "Approving it lets these calls run without another question, whatever their arguments:",
        "  - a: send up to high risk, any other tool up to medium risk",
        "  - b: any tool up to high risk, because the step names none",
        "  - c: any tool up to medium risk",
        "Every call of critical risk is asked about on its own, when its arguments are known.",
    ]


async def test_an_approval_of_a_plan_whose_author_may_not_give_it_any_more_is_asked_for_again(
    stage, plan, gate
) -> None:
    sent: list[str] = []

    @tool(risk=Risk.HIGH)
    def send() -> str:
        """Send."""
        sent.append("sent")
        return "sent"

    @tool(risk=Risk.CRITICAL)
    def erase() -> str:
        """Erase."""
        return "erased"

    person = gate(Decision("approve", decided_by="boss"), Decision.suspend(), Decision.reject("no"))
    steps = {"a": {"estimated_risk": "critical"}, "b": {"depends_on": ["a"], "estimated_risk": "high"}}
    work = {"do a": [[ToolCall("1", "erase")], "ok"], "do b": [[ToolCall("2", "send")], "done"]}
    here = stage(plans=[plan(**steps)], tools=[send, erase], gate=person, work=work)
    ctx = here.turn()
    assert (await here.go(ctx)).finish_reason == "suspended"

    here.services.security = replace(
        here.services.security, operator_policy=OperatorPolicy(operators=frozenset({"chief"}), several_users=True)
    )
    response = await here.go(here.services.restore(json.loads(json.dumps(ctx.state()))))
    assert (response.finish_reason, sent) == ("rejected", [])
    assert [asked.kind for asked in person.asked] == ["plan", "tool", "plan"]
