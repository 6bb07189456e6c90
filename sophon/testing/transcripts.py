"""Assertion that a transcript is valid for every provider."""

from collections.abc import Sequence

from sophon.messages import Message
from sophon.transcript import faults


def assert_valid_transcript(messages: Sequence[Message]) -> None:
    """Raise AssertionError with all faults; see `sophon.transcript.faults`."""
    found = faults(messages)
    assert not found, "the transcript is not valid:\n" + "\n".join(found)
