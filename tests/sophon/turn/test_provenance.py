"""Which untrusted texts a turn has read: in its calls, its plan steps and its session."""

from sophon import Services, ToolCall
from sophon.context import Tally
from sophon.context.state import Step
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon.tools.untrusted_text import fence_text
from sophon.turn.provenance import (
    MAX_SOURCES,
    collect_untrusted_sources,
    describe_source,
    note_untrusted_source,
)
from tests.tables import table


@table(
    ("arguments", "source"),
    [
        ({}, "tool"),
        ({"url": "https://me:pw@example.org:81/a?token=x#y"}, "tool https://example.org:81/a"),
        ({"url": "http://[bad"}, "tool (an invalid URL)"),
        ({"path": "notes/a.txt"}, "tool notes/a.txt"),
        ({"path": "a\nb"}, "tool a b"),
        ({"url": 5}, "tool"),
    ],
)
def test_a_source_names_tool_and_place(arguments: dict[str, object], source: str) -> None:
    assert describe_source(ToolCall("c", "tool", arguments)) == source


def test_a_source_has_a_limit() -> None:
    assert len(describe_source(ToolCall("c", "tool", {"path": "x" * 5000}))) == 200
    ctx = Services().turn("x")
    for number in [*range(100), *range(100)]:
        note_untrusted_source(ctx, str(number))
    assert ctx.tally.untrusted_sources == [str(number) for number in range(MAX_SOURCES)]


async def test_a_turn_that_read_nothing_has_no_sources() -> None:
    assert await collect_untrusted_sources(Services().turn("x")) == ()


async def test_what_a_plan_step_read_counts_for_the_turn_and_its_other_steps() -> None:
    ctx = Services().turn("x")
    first, second = ctx.child("a", Step("a")), ctx.child("b", Step("b"))
    note_untrusted_source(first, "web")
    assert await collect_untrusted_sources(ctx) == ("web",)
    assert await collect_untrusted_sources(second) == ("web",)


async def test_what_an_earlier_turn_of_the_session_read_counts() -> None:
    services = Services()
    record = SessionRecord("message", "r", Message("assistant", "hi"), data={"untrusted_sources": ["web"]})
    await services.store.sessions.append("demo", [record])
    assert await collect_untrusted_sources(services.turn("x", session_id="demo")) == ("web",)


async def test_a_fence_in_the_conversation_counts() -> None:
    ctx = Services().turn("x")
    ctx.messages.append(Message("tool", fence_text("page", "http.request", "0" * 16), tool_call_id="c"))
    assert await collect_untrusted_sources(ctx) == ("http.request",)


def test_sources_survive_suspend_and_resume_and_an_older_state_has_none() -> None:
    services = Services()
    ctx = services.turn("x")
    note_untrusted_source(ctx, "web")
    state = ctx.state()
    assert services.restore(state).tally.untrusted_sources == ["web"]
    del state["tally"]["untrusted_sources"]
    assert services.restore(state).tally == Tally()
