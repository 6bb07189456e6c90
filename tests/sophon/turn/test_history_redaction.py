"""History redaction: what of a message somebody reads who may not see all of it."""

import json

from sophon import Message, ToolCall
from sophon.messages import Reasoning
from sophon.testing import assert_valid_transcript
from sophon.turn.history_redaction import HIDDEN, hide_values, redact_history_for_reader, redact_message_for_reader
from tests.tables import table

KEY = "AKIA" + "IOSFODNN7EXAMPLE"
CALL = ToolCall("c1", "files.read", {"path": "salaries.txt", "lines": 7})


@table(
    ("message", "own", "foreign"),
    [
        (Message("user", "how are you?"), "how are you?", HIDDEN),
        (Message("user", f"use {KEY}"), "use [REDACTED]", HIDDEN),
        (Message("assistant", "I am well"), "I am well", HIDDEN),
        (Message("assistant", ""), "", ""),
        (Message("tool", "Ada earns 7", tool_call_id="c1"), HIDDEN, HIDDEN),
        (Message("tool", "", tool_call_id="c1"), HIDDEN, HIDDEN),
        (Message("user", "they spoke about Ada's pay", origin="compaction"), HIDDEN, HIDDEN),
        (Message("system", "be kind"), HIDDEN, HIDDEN),
    ],
)
def test_texts_stay_in_ones_own_conversation_and_results_nowhere(message: Message, own: str, foreign: str) -> None:
    assert redact_message_for_reader(message).content == own
    assert redact_message_for_reader(message, is_own=False).content == foreign


def test_arguments_and_reasoning_are_hidden_and_the_transcript_stays_valid() -> None:
    asked = Message("assistant", "Let me look", [CALL], reasoning=Reasoning("salaries.txt it is"))
    bad = Message("assistant", "", [ToolCall("c2", "x", {}, "cannot read salaries.txt")])
    shown = redact_history_for_reader(
        [
            Message("user", "hi"),
            asked,
            Message("tool", "7", tool_call_id="c1"),
            bad,
            Message("tool", "error", tool_call_id="c2"),
            Message("assistant", "done"),
        ]
    )

    assert_valid_transcript(shown)
    assert shown[1].tool_calls == [ToolCall("c1", "files.read", {"path": HIDDEN, "lines": HIDDEN})]
    assert shown[1].reasoning is None
    assert "salaries" not in json.dumps([message.to_json() for message in shown])


@table("key", ["my password is hunter2", KEY, ""])
def test_a_key_that_may_be_data_is_hidden_too(key: str) -> None:
    assert hide_values({key: 1, "path": "x"}) == {HIDDEN: HIDDEN, "path": HIDDEN}
