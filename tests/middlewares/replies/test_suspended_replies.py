"""Stages of a reply in a turn that waits for a person and is restored."""

from sophon import Services
from sophon.messages import ToolCall
from sophon.models.model import ModelResponse
from sophon.risk import Risk
from sophon.testing import ScriptedModel, VirtualClock
from sophon.tools.tool import tool
from sophon_hosting.host_chain import build_named_chain
from tests.gate import Gate


@tool(name="mail.send", risk=Risk.HIGH)
async def mail_send(to: str, body: str) -> str:
    """Send a mail."""
    return "sent"


async def test_a_turn_of_wasp_that_waits_is_announced_when_it_ends() -> None:
    send = ModelResponse("", [ToolCall("c", "mail.send", {"to": "ada@tea.house", "body": "See you at noon"})])
    services = Services(
        models=ScriptedModel([send, "It may arrive at noon.", "I've sent the email."]),
        tools=[mail_send],
        clock=VirtualClock(),
        approvals=Gate.suspending(),
        settings={"Decisions": {"FastPaths": {"Enabled": False}}, "Guards": {"Simulation": {"Enabled": False}}},
    )
    chain = build_named_chain(services, "wasp")
    ctx = services.turn("Please send a mail to ada@tea.house that I come at noon", session_id="s")
    waiting = await chain.run(ctx)
    assert (waiting.finish_reason, waiting.text) == ("suspended", "Waiting for approval: mail.send.")
    restored = services.restore(ctx.state())
    response = await chain.run(restored)
    assert response.text == "I've sent the email.\n\nActions:\n- mail.send: done"
    assert response.tool_rounds == 1
