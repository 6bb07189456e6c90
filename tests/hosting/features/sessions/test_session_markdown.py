from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from sophon.messages import Message, Reasoning, ToolCall
from sophon.stores.sessions.contract import SessionRecord, SessionSummary
from sophon_hosting.features.sessions.session_export import format_transcript
from sophon_hosting.features.sessions.session_markdown import code_block, session_to_markdown

AT = datetime(2026, 1, 1, tzinfo=UTC)


def written(*records: SessionRecord, title: str = "") -> str:
    return session_to_markdown(SessionSummary("s", title, "ada", len(records), AT, AT), records)


def test_a_conversation_has_a_heading_for_each_who_speaks() -> None:
    records = [SessionRecord("message", "r", Message(role, text)) for role, text in (("user", "a"), ("assistant", "b"))]
    assert written(*records) == "# s\n\n## You\n\na\n\n## Agent\n\nb\n"


def test_tool_calls_and_results_are_code() -> None:
    call = Message("assistant", "", (ToolCall("c", "pay", {"to": "Änne"}),))
    result = Message("tool", "paid ```Änne```", tool_call_id="c")
    text = written(SessionRecord("message", "r", call), SessionRecord("message", "r", result))
    assert 'Calls `pay`:\n\n```json\n{\n  "to": "Änne"\n}\n```' in text
    assert "````\npaid ```Änne```\n````" in text


def test_turns_without_an_answer_say_how_they_ended() -> None:
    assert "*The turn was failed: no key*" in written(SessionRecord("failed", "r", data={"message": "no key"}))
    assert "3 earlier messages" in written(SessionRecord("compaction", "r", Message("user", "x"), {"covers": 3}))


def test_a_title_is_one_line_without_signs_that_steer_a_terminal() -> None:
    assert written(title="a\nb\x1b[31m").splitlines()[0].startswith("# a")
    assert "\x1b" not in written(title="a\nb\x1b[31m")
    assert len(written(title="a\nb").splitlines()) == 1


@pytest.mark.parametrize(("text", "fence"), [("a", "```"), ("```", "````"), ("`", "```"), ("a ````` b", "``````")])
def test_code_cannot_close_its_own_block(text: str, fence: str) -> None:
    assert code_block(text) == f"{fence}\n{text}\n{fence}"


LOOK = Message("assistant", "Let me look.", [ToolCall("c", "gaze")], reasoning=Reasoning("Hm"))
TURN = [
    SessionRecord("message", "r", Message("user", "How is it?")),
    SessionRecord("message", "r", LOOK),
    SessionRecord("message", "r", Message("tool", "sunny", tool_call_id="c")),
    SessionRecord("cancelled", "r", data={"shown": "It is su"}),
]


def test_an_export_has_text_call_and_interrupted_text_in_order() -> None:
    for text in (written(*TURN), "\n".join(format_transcript(TURN))):
        places = [text.index(part) for part in ("How is it?", "Hm", "Let me look.", "gaze", "sunny", "It is su")]
        assert places == sorted(places)


@pytest.mark.parametrize("render", [written, lambda *records: "\n".join(format_transcript(records))])
def test_a_turn_that_went_on_after_a_decision_no_longer_waits(render: Callable[..., str]) -> None:
    waiting = SessionRecord("suspended", "r1")
    assert "the turn waits for a decision" in render(waiting).lower()
    went_on = SessionRecord("message", "r1", Message("assistant", "paid"))
    other = SessionRecord("message", "r2", Message("user", "and?"))
    assert "waits" not in render(waiting, went_on)
    assert "waits" in render(went_on, waiting, other)
