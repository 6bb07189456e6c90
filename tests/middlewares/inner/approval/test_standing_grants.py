"""Approvals in advance: what they cover, whom, how long, and what never is approved in advance."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sophon import Context, Decision, Pipeline, Risk, Services, ToolCall, tool
from sophon.events import GuardVerdict
from sophon.stores.contract import Store
from sophon.stores.grants.contract import StandingGrant
from sophon.stores.in_memory_store import InMemoryStore
from sophon.testing import EventRecorder, ScriptedModel, VirtualClock
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ToolExecution
from sophon_middlewares.tool_calls.escalations import Escalation, escalate
from tests.gate import Gate
from tests.tables import table


@tool(name="files.write", risk=Risk.HIGH)
async def write(path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {path}"


@tool(risk=Risk.CRITICAL)
async def wreck(to: str) -> str:
    """Wreck something."""
    return f"wrecked {to}"


@dataclass
class Turns:
    """Turns of the same people over one store; `ask` returns whether a person was asked."""

    store: Store = field(default_factory=InMemoryStore)
    clock: VirtualClock = field(default_factory=VirtualClock)
    events: EventRecorder = field(default_factory=EventRecorder)
    gate: Gate = field(default_factory=lambda: Gate(Decision.approve(decided_by="ada", grant="session")))

    async def ask(
        self, call: ToolCall, *, guards: Sequence[Any] = (), session: str = "s", who: str = "ada", chat: str = ""
    ) -> bool:
        before = len(self.gate.asked)
        ctx = self.build(call, session=session, who=who, chat=chat)
        await Pipeline.compose(AgenticLoop(), *guards, Approval(), ToolExecution(), LlmInvoker()).run(ctx)
        return len(self.gate.asked) > before

    def build(self, call: ToolCall, *, session: str = "s", who: str = "ada", chat: str = "") -> Context:
        services = Services(
            store=self.store,
            clock=self.clock,
            models=ScriptedModel([[call], "done"]),
            tools=[write, wreck],
            approvals=self.gate,
            events=self.events,
        )
        return services.turn("hi", session_id=session, principal=who, group=bool(chat), data_owner=chat or None)

    def answer(self, decision: Decision) -> None:
        self.gate.decision = decision

    async def grants(self) -> list[StandingGrant]:
        return await self.store.grants.list_active(self.clock.now())


def note(path: str = "notes/a.txt", content: str = "milk") -> ToolCall:
    return ToolCall("c1", "files.write", {"path": path, "content": content})


async def test_a_grant_for_the_session_covers_calls_that_fit_in_it() -> None:
    turns = Turns()
    assert await turns.ask(note())
    assert "any file directly in the folder notes" in turns.gate.asked[0].grant_offer

    assert not await turns.ask(note("notes/b.txt", "tea"))
    assert await turns.ask(note(), session="other")
    assert await turns.ask(note("b.txt"))
    assert await turns.ask(note("notes/../b.txt"))
    assert await turns.ask(note(), who="bob")


async def test_a_grant_for_always_covers_all_sessions_of_its_person() -> None:
    turns = Turns()
    turns.answer(Decision.approve(decided_by="ada", grant="always"))
    assert await turns.ask(note())
    turns.answer(Decision.reject())
    assert [await turns.ask(note(), session=name) for name in ("s", "other")] == [False, False]
    assert await turns.ask(note(), who="bob")


PLACES = ("", "telegram:chat:-100", "telegram:chat:-200")


@table("given_in", ["", "telegram:chat:-100"])
async def test_a_grant_for_always_covers_only_the_place_it_was_given_in(given_in: str) -> None:
    turns = Turns()
    turns.answer(Decision.approve(decided_by="ada", grant="always"))
    assert await turns.ask(note(), chat=given_in)
    turns.answer(Decision.approve(decided_by="ada"))
    asked = {chat: await turns.ask(note(), session=f"t{chat}", chat=chat) for chat in PLACES}

    assert asked == {chat: chat != given_in for chat in PLACES}
    [stored] = await turns.store.grants.list_active(turns.clock.now())
    assert stored.chat == given_in


async def test_without_a_grant_each_call_is_asked_about() -> None:
    turns = Turns()
    turns.answer(Decision.approve(decided_by="ada"))
    assert [await turns.ask(note()), await turns.ask(note())] == [True, True]
    assert await turns.grants() == []


async def test_an_edit_gives_no_grant_and_an_edited_call_is_not_covered_by_that_of_another_folder() -> None:
    turns = Turns()
    await turns.ask(note())
    turns.answer(Decision.edit({"path": "other/a.txt", "content": "x"}, decided_by="ada"))
    assert await turns.ask(note("b.txt"))
    assert await turns.ask(note("other/b.txt"))
    assert len(await turns.grants()) == 1


async def test_a_critical_call_is_never_approved_in_advance() -> None:
    turns = Turns()
    turns.answer(Decision.approve(decided_by="ada", grant="always"))
    call = ToolCall("c1", "wreck", {"to": "x"})
    assert [await turns.ask(call), await turns.ask(call)] == [True, True]
    assert turns.gate.asked[0].grant_offer == ""
    assert await turns.grants() == []


@table(("tool_name", "risk"), [("files.write", "medium"), ("wreck", "high"), ("wreck", "critical")])
async def test_a_grant_of_a_tool_that_became_riskier_counts_no_more(tool_name: str, risk: str) -> None:
    turns = Turns()
    call = note() if tool_name == "files.write" else ToolCall("c1", "wreck", {"to": "x"})
    grant = StandingGrant(
        id="grt_1",
        scope="always",
        principal="ada",
        session_id="",
        tool=tool_name,
        risk=risk,
        pattern={name: {} for name in call.arguments},
        description="",
        granted_by="ada",
        granted_at=turns.clock.now(),
        expires_at=turns.clock.now() + timedelta(days=1),
    )
    await turns.store.grants.add(grant)
    assert await turns.ask(call)


class Objects:
    """Guard that escalates every call."""

    zone = "inner"

    async def __call__(self, ctx: Context, next: Any, /) -> None:
        for call in ctx.pending:
            escalate(ctx, call, Escalation("Objects", "rule", "it looks odd"))
        await next(ctx)


async def test_what_a_guard_asks_about_is_neither_covered_nor_granted() -> None:
    turns = Turns()
    assert await turns.ask(note("x/a"), guards=[Objects()])
    assert (turns.gate.asked[0].grant_offer, await turns.grants()) == ("", [])
    await turns.ask(note())
    assert await turns.ask(note(), guards=[Objects()])


async def test_a_revoked_or_expired_grant_covers_nothing() -> None:
    turns = Turns()
    await turns.ask(note())
    [grant] = await turns.grants()
    await turns.store.grants.revoke(grant.id, turns.clock.now())
    assert await turns.ask(note("notes/b.txt"))
    assert not await turns.ask(note("notes/c.txt"))
    turns.clock.jump(30 * 24 * 3600)
    assert await turns.ask(note("notes/d.txt"))


async def test_the_event_and_the_grant_of_the_call_name_the_grant_and_who_gave_it() -> None:
    turns = Turns()
    await turns.ask(note())
    await turns.ask(note("notes/b.txt"))
    [grant] = await turns.grants()
    [verdict] = turns.events.of(GuardVerdict)
    assert (verdict.guard, verdict.verdict, verdict.rule) == ("Approval", "allow", grant.id)
    assert verdict.reason.startswith("ada has allowed it for this conversation: calls of files.write")


async def test_a_turn_that_is_stored_does_not_keep_what_a_grant_covers() -> None:
    turns = Turns()
    await turns.ask(note())
    [grant] = await turns.grants()
    ctx = turns.build(note("notes/b.txt"))
    seen: list[Any] = []

    class Look:
        zone = "inner"

        async def __call__(self, ctx: Context, next: Any, /) -> None:
            seen.append((ctx.grants["c1"].standing, ctx.state()["grants"]) if ctx.pending else None)
            await next(ctx)

    await Pipeline.compose(AgenticLoop(), Approval(), Look(), ToolExecution(), LlmInvoker()).run(ctx)
    assert (grant.id, {}) in seen
