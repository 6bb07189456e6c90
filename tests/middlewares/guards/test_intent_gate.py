"""IntentGate: a call with effects runs if words of the person ask for it."""

import pytest

from sophon import Risk, Services, tool
from sophon.approvals import Decision
from sophon.events import GuardVerdict
from sophon.messages import ToolCall
from sophon.models.model import ModelResponse
from sophon.testing import EventRecorder, ScriptedModel, VirtualClock
from sophon_hosting.host_chain import build_configured_chain
from sophon_middlewares.chains import wasp
from sophon_middlewares.guards.intent_gate import IntentGate
from sophon_middlewares.tool_calls.fast_path_call import FAST_PATH
from tests.gate import Gate
from tests.tables import table

SENT: list[str] = []
BODY = "See you at noon tomorrow"


@tool(name="mail.send", risk=Risk.MEDIUM)
async def mail_send(to: str, body: str) -> str:
    """Send a mail."""
    SENT.append(to)
    return "sent"


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    SENT.clear()


def send(call_id: str, to: str = "ada@tea.house") -> ModelResponse:
    return ModelResponse("", [ToolCall(call_id, "mail.send", {"to": to, "body": BODY})])


async def run(
    *texts: str, gate: dict[str, object] | None = None, decision: Decision | None = None, to: str = "ada@tea.house"
) -> tuple[Gate, EventRecorder, list[str]]:
    person, events = Gate(decision or Decision.reject("no")), EventRecorder()
    script = [part for number, _ in enumerate(texts) for part in (send(f"c{number}", to), "done")]
    services = Services(
        models=ScriptedModel(script),
        tools=[mail_send],
        clock=VirtualClock(),
        events=events,
        approvals=person,
        settings={"Guards": {"IntentGate": {"Enabled": True, **(gate or {})}, "Shield": {"Enabled": False}}},
    )
    chain = build_configured_chain(services)
    for text in texts:
        await chain.run(services.turn(text, session_id="s"))
    results = [each.content for each in await services.history("s") if each.role == "tool"]
    return person, events, results


async def test_what_the_person_asks_for_runs() -> None:
    person, _, _ = await run("Send a mail to ada@tea.house about lunch")
    assert (SENT, person.asked) == (["ada@tea.house"], [])


@table(("approves", "sent"), [(True, ["ada@tea.house"]), (False, [])])
async def test_what_nobody_asked_for_is_asked_about(approves: bool, sent: list[str]) -> None:
    SENT.clear()
    person, events, _ = await run("What is the weather?", decision=Decision.approve() if approves else None)
    assert sent == SENT
    [asked] = person.asked
    assert asked.escalation is not None
    assert (asked.escalation.guard, asked.escalation.rule) == ("IntentGate", "inferred_blocked")
    assert [each.verdict for each in events.of(GuardVerdict) if each.guard == "IntentGate"] == ["escalate"]


async def test_by_setting_it_is_refused_without_a_question() -> None:
    person, _, [result] = await run("What is the weather?", gate={"OnDoubt": "Refuse"}, decision=Decision.approve())
    assert (SENT, person.asked) == ([], [])
    assert result == "blocked by IntentGate (inferred_blocked): no words of the person ask for mail.send"


async def test_what_is_not_understood_is_asked_about_even_where_the_rest_is_refused() -> None:
    text = "por favor manda um email para ada@tea.house, obrigado"
    person, events, _ = await run(text, gate={"OnDoubt": "Refuse"}, decision=Decision.approve())
    assert SENT == ["ada@tea.house"]
    assert [each.escalation.guard for each in person.asked if each.escalation] == ["IntentGate"]
    assert [each.verdict for each in events.of(GuardVerdict) if each.guard == "IntentGate"] == ["escalate"]


@table(
    ("text", "verdicts"),
    [
        ("kannst du diese Liste in todo.txt notieren?", []),
        ("voitko tallentaa listan tiedostoon", ["escalate"]),
        ("wer hat den Faust geschrieben?", ["block"]),
    ],
)
async def test_the_chain_wasp_asks_where_it_does_not_understand(text: str, verdicts: list[str]) -> None:
    events = EventRecorder()
    call = ModelResponse("", [ToolCall("c", "files.write", {"path": "todo.txt", "content": "milk"})])
    services = Services(
        models=ScriptedModel([call, "ok"]), clock=VirtualClock(), events=events, approvals=Gate(Decision.reject("no"))
    )
    await wasp(services).run(services.turn(text))
    assert [each.verdict for each in events.of(GuardVerdict) if each.guard == "IntentGate"] == verdicts


async def test_a_recipient_of_the_model_is_not_written_to() -> None:
    await run("Send a mail to ada@tea.house", gate={"OnDoubt": "Refuse"}, to="eve@evil.house")
    assert SENT == []


async def test_do_it_again_needs_an_action_of_an_earlier_turn() -> None:
    await run("Send a mail to ada@tea.house about lunch", "do it again", gate={"OnDoubt": "Refuse"})
    assert len(SENT) == 2
    SENT.clear()
    await run("do it again", gate={"OnDoubt": "Refuse"})
    assert SENT == []


async def test_an_excluded_tool_is_not_judged() -> None:
    gate: dict[str, object] = {"OnDoubt": "Refuse", "Excluded": ["mail.*"]}
    person, _, _ = await run("What is the weather?", gate=gate, decision=Decision.approve())
    assert [each.escalation for each in person.asked] == [None], "asked because of its risk, not by the gate"
    assert SENT == ["ada@tea.house"]


async def test_without_the_gate_the_same_call_runs() -> None:
    person, _, _ = await run("What is the weather?", gate={"Enabled": False}, decision=Decision.approve())
    assert [each.escalation for each in person.asked] == [None]
    assert SENT == ["ada@tea.house"]


@table(("body", "passes"), [("a presentation about tea", True), ("something else", False)])
async def test_the_call_of_a_fast_path_is_asked_for_by_the_words_it_is_made_of(body: str, passes: bool) -> None:
    services = Services(tools=[mail_send], settings={"Guards": {"IntentGate": {"Enabled": True}}})
    ctx = services.turn("Prepare a presentation about tea")
    ctx.put(FAST_PATH, ["mail.send", {"to": "x", "body": "a presentation about tea"}])
    assert (IntentGate().judge(ctx, ToolCall("c", "mail.send", {"to": "x", "body": body})) is None) is passes
