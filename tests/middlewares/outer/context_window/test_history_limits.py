"""Limits on the history of a request, and internal messages of earlier turns."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon import Message, ModelRequest, Pipeline, Services, ToolCall
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import FunctionModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import clawdesk
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
from sophon_middlewares.outer.context_window.context_window import ContextWindow
from sophon_middlewares.outer.context_window.conversation_truncation import GAP_NOTE
from sophon_middlewares.outer.context_window.history_limits import limit_history
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from tests.tables import table

SYSTEM = Message("system", "Be brief.")


def history(kinds: list[int]) -> list[Message]:
    """Rounds: 0 is a question and an answer, n > 0 a reply with n calls and their results."""
    messages: list[Message] = []
    for number, kind in enumerate(kinds):
        messages.append(Message("user", f"q{number}"))
        calls = [ToolCall(f"c{number}.{n}", "look") for n in range(kind)]
        if calls:
            messages.append(Message("assistant", "", calls))
        messages += [Message("tool", "seen", tool_call_id=call.id) for call in calls]
        messages.append(Message("assistant", f"a{number}"))
    return messages


@given(st.lists(st.integers(0, 3), max_size=12), st.integers(1, 20), st.none() | st.integers(1, 60))
def test_the_newest_whole_rounds_stay_in_order_within_both_limits(
    kinds: list[int], most: int, tokens: int | None
) -> None:
    earlier, question = history(kinds), Message("user", "and now?")
    shown = [SYSTEM, *earlier, question]
    kept = limit_history(shown, most, tokens, lambda message: 4)
    if kept is None:
        assert len(earlier) <= most
        assert tokens is None or 4 * len(earlier) <= tokens
        return
    assert_valid_transcript(kept)
    is_pinned = most >= 2 and (tokens is None or tokens >= 8)  # it leaves room for at least as much
    pinned = earlier[:1] if is_pinned else []
    assert kept[: len(pinned) + 2] == [SYSTEM, *pinned, GAP_NOTE]
    rest = kept[len(pinned) + 2 : -1]
    assert kept[-1] is question
    assert rest == (earlier[-len(rest) :] if rest else [])
    assert len(pinned) + len(rest) <= most
    assert tokens is None or 4 * (len(pinned) + len(rest)) <= tokens


@table(("settings", "texts"), [({}, 11), ({"HistoryMessages": 4}, 6), ({"HistoryTokens": 12}, 4)])
async def test_a_request_has_the_history_within_the_limits_and_no_internal_message(
    settings: dict[str, Any], texts: int
) -> None:
    async def answer(request: ModelRequest) -> str:
        return "done"

    model = FunctionModel(answer)
    services = Services(models=[model], clock=VirtualClock(), settings={"ContextWindow": settings})
    stored = history([0, 0, 1, 0])
    stored.insert(2, Message("user", "[Your last reply was wrong]", origin="hint"))
    await services.store.sessions.append("s", [SessionRecord("message", "r", each) for each in stored])
    ctx = services.turn("and now?", session_id="s")
    ctx.tools = ()
    await Pipeline.compose(SessionEvents(), ContextWindow(), LlmInvoker()).run(ctx)
    (request,) = model.requests
    assert_valid_transcript(request.messages)
    assert "[Your last reply was wrong]" not in [each.content for each in request.messages]
    assert len(request.messages) == texts
    assert request.messages[-1].content == "and now?"


async def test_clawdesk_shows_fifty_messages_of_earlier_turns_the_first_one_included() -> None:
    async def answer(request: ModelRequest) -> str:
        return "done"

    model = FunctionModel(answer)
    services = Services(models=[model], clock=VirtualClock())
    stored = history([0] * 40)
    await services.store.sessions.append("s", [SessionRecord("message", "r", each) for each in stored])
    await clawdesk(services).run(services.turn("and now?", session_id="s"))
    *earlier, question = [each for each in model.requests[0].messages if each is not GAP_NOTE]
    assert (len(earlier), question.content) == (50, "and now?")
    assert earlier[0].content == "q0"
    assert [each.content for each in earlier[1:]] == [each.content for each in stored[-49:]]
