"""Risk of a call: raised by its arguments and the autonomy mode, never lowered; and who is asked in each mode."""

from collections.abc import Mapping
from typing import Any

import pytest

from sophon import Pipeline, Risk, Services, Tool, ToolCall, tool
from sophon.settings import ApprovalSettings
from sophon.settings.autonomy import DANGEROUS_TOOLS
from sophon.testing import ScriptedModel
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ToolExecution
from sophon_middlewares.tool_calls.call_risk import find_call_risk, find_tool_risk
from tests.middlewares.guards.conftest import Gate
from tests.tables import table


def make_tool(name: str, risk: Risk) -> Tool:
    @tool(name=name, risk=risk)
    async def run(command: str = "", code: str = "", path: str = "", to: str = "") -> str:
        """Do something."""
        return "done"

    return run


RAISED: list[tuple[str, Mapping[str, Any], Risk]] = [
    ("run", {"command": "rm -rf build"}, Risk.HIGH),
    ("run", {"command": "r''m -r build"}, Risk.HIGH),
    ("run", {"command": "sudo id"}, Risk.MEDIUM),
    ("run", {"code": "import shutil; shutil.rmtree('/tmp/x')"}, Risk.HIGH),
    ("save_file", {"path": "/etc/hosts"}, Risk.HIGH),
    ("send_email", {"to": "stranger@example.org"}, Risk.HIGH),
    ("send_email", {"to": "Bob@example.org"}, Risk.LOW),
    ("send_email", {"to": "bob@example.org, stranger@example.org"}, Risk.HIGH),
]
BENIGN = ["git status", "ls -la", "rm notes.txt", "npm test", "grep -rf patterns.txt src", "cat a.txt | wc -l", "make"]


@table(("name", "arguments", "risk"), RAISED)
def test_the_arguments_raise_the_risk(name: str, arguments: Mapping[str, Any], risk: Risk) -> None:
    ctx = Services().turn("Write to (bob@example.org).")
    assert find_call_risk(ctx, ToolCall("c", name, arguments), make_tool(name, Risk.LOW)) is risk


@table("risk", Risk)
@table("command", [*BENIGN, "rm -rf build"])
def test_no_argument_lowers_it_and_benign_ones_keep_it(risk: Risk, command: str) -> None:
    ctx = Services().turn("hi")
    found = find_call_risk(ctx, ToolCall("c", "run", {"command": command}), make_tool("run", risk))
    assert found >= risk
    if command in BENIGN:
        assert found is risk


async def ask_about(settings: Mapping[str, Any], call: ToolCall, risk: Risk) -> list[str]:
    """Return the risks of the calls that a person was asked about."""
    gate = Gate()
    services = Services(
        models=ScriptedModel([[call], "done"]),
        tools=[make_tool(call.name, risk)],
        approvals=gate,
        settings={"Approval": settings},
    )
    ctx = services.turn("hi")
    await Pipeline.compose(AgenticLoop(), Approval(), ToolExecution(), LlmInvoker()).run(ctx)
    assert "done" in [message.content for message in ctx.messages if message.role == "tool"]
    return [each.risk.label for each in gate.asked]


async def test_a_person_is_asked_about_the_raised_risk_and_reads_it() -> None:
    danger, harmless = ({"command": command} for command in ("rm -rf build", "ls"))
    assert await ask_about({}, ToolCall("c", "run", danger), Risk.MEDIUM) == ["high"]
    assert await ask_about({}, ToolCall("c", "run", harmless), Risk.MEDIUM) == []
    assert await ask_about({"AutoApproveUpTo": "High"}, ToolCall("c", "run", danger), Risk.MEDIUM) == []


MATRIX = {"Assist": [True] * 5, "Semi": [False, False, False, True, True], "Full": [False] * 4 + [True]}


@table("mode", MATRIX)
@table("risk", Risk)
async def test_who_is_asked_in_each_mode(mode: str, risk: Risk) -> None:
    asked = await ask_about({"Autonomy": mode}, ToolCall("c", "plain"), risk)
    assert bool(asked) is MATRIX[mode][risk]


@table("name", sorted(DANGEROUS_TOOLS))
def test_dangerous_tools_are_of_high_risk_in_a_mode(name: str) -> None:
    for risk in Risk:
        assert find_tool_risk(make_tool(name, risk), ApprovalSettings.model_validate({"Autonomy": "Semi"})) is max(
            risk, Risk.HIGH
        )
        assert find_tool_risk(make_tool(name, risk), ApprovalSettings()) is risk


async def test_a_dangerous_tool_asks_in_mode_semi_only() -> None:
    call = ToolCall("c", "bash", {"command": "ls"})
    assert await ask_about({"Autonomy": "semi"}, call, Risk.LOW) == ["high"]
    assert await ask_about({}, call, Risk.LOW) == []


def test_a_mode_and_what_contradicts_it_are_refused_together() -> None:
    with pytest.raises(ValueError, match="contradicts Autonomy Full, which sets it to High; remove one of the two"):
        ApprovalSettings.model_validate({"Autonomy": "Full", "AutoApproveUpTo": "Low"})
    same = ApprovalSettings.model_validate({"Autonomy": "Full", "AutoApproveUpTo": "High"})
    assert (same.ask_from, same.auto_approve_up_to) == ("High", "High")
