"""Streamed text that was written where it cannot be taken back."""

import pytest

from sophon.events import StreamChunk
from sophon_hosting.rendering.sent_text import SentText


@pytest.mark.parametrize(
    ("chunks", "sent"),
    [
        ([(1, "one "), (1, "two")], "one two"),
        ([(1, "one"), (2, "one"), (2, "\n\ntwo")], "one\n\ntwo"),
        ([(1, "one\n\nhalf"), (2, "one"), (2, "\n\nhalf of it")], "one\n\nhalf of it"),
        ([(1, "one\n\nI walk"), (2, "one"), (2, "\n\nI talk")], "one\n\nI walk\n\nI talk"),
        ([(1, "wrong"), (2, "right")], "wrong\n\nright"),
    ],
)
def test_a_reset_repeats_nothing_that_still_counts(chunks: list[tuple[int, str]], sent: str) -> None:
    accumulator = SentText()
    assert "".join(accumulator.add_chunk(StreamChunk(epoch=epoch, text=text)) for epoch, text in chunks) == sent
    assert accumulator.epoch_text == "".join(text for epoch, text in chunks if epoch == chunks[-1][0])


def test_a_message_that_was_streamed_is_not_written_again() -> None:
    accumulator = SentText()
    accumulator.add_chunk(StreamChunk(epoch=1, text="one"))
    assert [accumulator.add_message(text) for text in ("one", "two", "two")] == ["", "two", ""]
    assert accumulator.epoch_text == "one\n\ntwo"
