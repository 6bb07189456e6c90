"""Assertion that a transcript is valid for every provider."""

from collections.abc import Sequence

from sophon.messages import Message
from sophon.turn.transcript_validation import find_transcript_faults


def assert_valid_transcript(messages: Sequence[Message]) -> None:
    """Raise AssertionError with all faults; see `sophon.turn.transcript_validation.find_transcript_faults`."""
    found = find_transcript_faults(messages)
    assert not found, "the transcript is not valid:\n" + "\n".join(found)
