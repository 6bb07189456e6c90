"""Audit: every call has its entries, they hold no secret, and a call that cannot be audited does not run."""

from collections.abc import Sequence

import pytest

from sophon import Decision, Risk, ToolCall, tool
from sophon.errors import StoreError
from sophon.stores.audit.audit_event import AuditEvent
from sophon.testing import VirtualClock
from sophon_middlewares.guards.audit import MAX_SUMMARY_CHARACTERS, Audit
from sophon_middlewares.guards.integrity import Integrity
from sophon_middlewares.guards.protection import Protection
from tests.middlewares.guards.conftest import GuardedTurn, shell_call, write_call

KEY = "sk-ant-api03-" + "aB3dE5fG7h" * 9
ran: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@tool
async def look(name: str = "") -> str:
    """Look."""
    ran.append(name)
    if name == "fail":
        raise ValueError("it is dark")
    return f"seen {name}"


LOOK = ToolCall("c1", "look", {"name": "a"})


async def read(turn: GuardedTurn) -> list[tuple[str, str, str, str]]:
    """Return event, guard, rule and outcome of each entry, the oldest first."""
    entries = [each.fields for each in await turn.services.store.audit.list_after(0)]
    return [(each["event"], each["guard"], each["rule"], each["outcome"]) for each in entries]


async def test_a_call_that_runs_is_proposed_and_executed(turn: GuardedTurn) -> None:
    assert await turn.run([Audit()], [LOOK], tools=[look], principal="ann", session_id="s") == ["seen a"]

    assert await read(turn) == [("proposed", "", "", ""), ("executed", "", "", "completed")]
    proposed, executed = await turn.services.store.audit.list_after(0)
    assert proposed.texts == {"input": '{"name":"a"}'}
    assert executed.texts == {"output": "seen a"}
    same = {"session_id": "s", "principal": "ann", "tool": "look", "capability": "look", "risk": "low", "call_id": "c1"}
    assert same.items() <= proposed.fields.items()
    assert same.items() <= executed.fields.items()
    assert (await turn.services.store.audit.verify()).broken is None


async def test_an_entry_has_tool_texts_level_risk_and_duration(turn: GuardedTurn) -> None:
    turn.clock = clock = VirtualClock()

    @tool
    async def wait() -> str:
        """Wait."""
        await clock.sleep(2)
        return "waited"

    await turn.run([Audit()], [ToolCall("c1", "wait", {})], tools=[wait])

    proposed, executed = await turn.services.store.audit.list_after(0)
    assert (proposed.texts, executed.texts) == ({"input": "{}"}, {"output": "waited"})
    kept = {name: executed.fields[name] for name in ("tool", "risk", "duration_ms")}
    assert kept == {"tool": "wait", "risk": "low", "duration_ms": 2000}
    assert (proposed.capability_level, executed.capability_level) == ("monitored", "monitored"), "of low risk"


async def test_without_the_guard_there_are_no_entries(turn: GuardedTurn) -> None:
    await turn.run([Protection()], [LOOK], tools=[look])
    assert await read(turn) == []


@pytest.mark.parametrize("call", [ToolCall("c1", "look", {"name": "fail"}), ToolCall("c1", "unknown", {})])
async def test_a_call_that_fails_is_kept_as_failed(turn: GuardedTurn, call: ToolCall) -> None:
    await turn.run([Audit()], [call], tools=[look])
    assert await read(turn) == [("proposed", "", "", ""), ("failed", "", "", "failed")]


async def test_a_blocked_call_names_the_guard_and_the_rule(turn: GuardedTurn) -> None:
    (turn.folder / "sophon.db").write_text("")
    await turn.run([Audit(), Protection()], [write_call(str(turn.folder / "sophon.db"))])

    assert await read(turn) == [
        ("proposed", "", "", ""),
        ("evaluated", "Protection", "protected_blocked", "block"),
        ("blocked", "Protection", "protected_blocked", "denied"),
    ]


async def test_a_block_immediately_before_the_call_is_kept(turn: GuardedTurn) -> None:
    script = turn.folder / "data" / "files" / "run.sh"
    script.write_text("true")
    turn.gate.on_request = lambda _: script.write_text("rm -rf .")
    await turn.run([Audit(), Integrity()], [shell_call("sh run.sh")])

    assert ("blocked", "Integrity", "changed_file", "denied") in await read(turn)


async def test_the_decision_of_a_person_is_kept_with_who_decided(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.approve(decided_by="ann")
    await turn.run([Audit(), Protection()], [write_call("USER.md")])

    assert [each[:3] for each in await read(turn)] == [
        ("proposed", "", ""),
        ("evaluated", "Protection", "protected_tier1"),
        ("evaluated", "Approval", "approved"),
        ("executed", "", ""),
    ]
    texts = [each.texts for each in await turn.services.store.audit.list_after(0)]
    assert texts[2] == {"reason": "ann"}


async def test_a_call_that_was_approved_in_advance_names_the_grant(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.approve(decided_by="ada", grant="always")
    await turn.run([Audit()], [write_call("notes/a.txt")])
    store = turn.services.store
    [grant] = await store.grants.list_active(turn.services.clock.now())
    ctx = turn.build([write_call("notes/b.txt")], store=store)
    await turn.chain(Audit()).run(ctx)

    assert ("evaluated", "Approval", grant.id, "allow") in await read(turn)
    assert len(turn.gate.asked) == 1


async def test_edited_arguments_are_kept(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.edit({"path": "USER.md", "content": "better"}, decided_by="ann")
    await turn.run([Audit(), Protection()], [write_call("USER.md")])

    [edited] = [each for each in await turn.services.store.audit.list_after(0) if each.fields["rule"] == "edited"]
    assert "better" in str(edited.texts["input"])


async def test_who_rejected_a_call_is_kept(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.reject("no", decided_by="ann")
    await turn.run([Audit()], [shell_call("ls")])
    rejected = ("Approval", "rejected")
    assert [each[:3] for each in await read(turn)] == [
        ("proposed", "", ""),
        ("evaluated", *rejected),
        ("blocked", *rejected),
    ]
    assert (await turn.services.store.audit.list_after(0))[1].texts == {"reason": "ann"}


async def test_a_suspended_call_is_proposed_and_escalated_once(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.suspend()
    ctx = turn.build([write_call("USER.md")])
    chain = turn.chain(Audit(), Protection())
    assert (await chain.run(ctx)).finish_reason == "suspended"
    assert [each[0] for each in await read(turn)] == ["proposed", "evaluated"]
    turn.gate.decision = Decision.approve()
    await turn.chain(Audit(), Protection()).run(turn.services.restore(ctx.state()))

    assert [each[0] for each in await read(turn)] == ["proposed", "evaluated", "executed"]


async def test_secrets_and_long_texts_are_not_kept(turn: GuardedTurn) -> None:
    pem = "-----BEGIN PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq98\n" * 90 + "-----END PRIVATE KEY-----"
    texts = [KEY, "x" * (MAX_SUMMARY_CHARACTERS - 30) + " " + KEY, pem, "word " * 500_000]
    calls = [ToolCall(f"c{number}", "look", {"name": text}) for number, text in enumerate(texts)]
    await turn.run([Audit()], calls, tools=[look])

    entries = await turn.services.store.audit.list_after(0)
    kept = [text for entry in entries for text in entry.texts.values() if text is not None]
    assert len(kept) == 2 * len(calls)
    assert max(map(len, kept)) <= MAX_SUMMARY_CHARACTERS
    assert not any("aB3dE5fG7h" in text or "MIIEpAIB" in text for text in kept)


class RefusingAudit:
    """Audit log that refuses the entries of one kind."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    async def append(self, events: Sequence[AuditEvent]) -> None:
        if any(event.event == self._kind for event in events):
            raise StoreError("store", f"no {self._kind} entry")


@pytest.mark.parametrize(("kind", "path"), [("proposed", "a.txt"), ("evaluated", "USER.md")])
async def test_a_call_that_cannot_be_audited_does_not_run(
    turn: GuardedTurn, monkeypatch: pytest.MonkeyPatch, kind: str, path: str
) -> None:
    ctx = turn.build([write_call(path)])
    monkeypatch.setattr(ctx.services.store, "audit", RefusingAudit(kind))
    await turn.chain(Audit(), Protection()).run(ctx)

    [result] = [message.content for message in ctx.messages if message.role == "tool"]
    assert "blocked" in result
    assert not (turn.folder / "data" / "files" / path).exists()


async def test_an_outcome_that_cannot_be_appended_is_an_error_of_the_turn(
    turn: GuardedTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx = turn.build([LOOK], tools=[look])
    monkeypatch.setattr(ctx.services.store, "audit", RefusingAudit("executed"))
    with pytest.raises((StoreError, ExceptionGroup)):
        await turn.chain(Audit()).run(ctx)


@pytest.mark.parametrize(
    ("url", "method", "raised"),
    [("https://example.org/", "DELETE", "medium"), ("https://example.org/", "POST", "")],
)
async def test_the_risk_to_which_the_arguments_raise_a_call_is_beside_that_of_the_tool(
    turn: GuardedTurn, url: str, method: str, raised: str
) -> None:
    @tool(risk=Risk.LOW)
    async def ask(url: str, method: str) -> str:
        """Ask a server."""
        return "ok"

    await turn.run([Audit()], [ToolCall("c1", "ask", {"url": url, "method": method})], tools=[ask])
    proposed = (await turn.services.store.audit.list_after(0))[0]

    assert (proposed.fields["risk"], proposed.texts.get("raised_risk", "")) == ("low", raised)
