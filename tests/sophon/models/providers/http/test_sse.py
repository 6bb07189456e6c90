import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import ResponseTooLarge
from sophon.models.providers.http.sse import MAX_EVENT_BYTES, SseDecoder

EVENTS = [b'{"a": 1}', "Grüße 🐈".encode(), b"[DONE]", b""]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in itertools.pairwise(borders)]


@given(st.lists(st.sampled_from(EVENTS), max_size=6), st.lists(st.integers(0, 500)), st.sampled_from([b"\n", b"\r\n"]))
def test_events_come_out_whole_wherever_the_network_cut_them(
    events: list[bytes], places: list[int], line_break: bytes
) -> None:
    data = b"".join(b"data: " + event + line_break * 2 for event in events)
    stream, found = SseDecoder(), list[bytes]()
    for piece in cut(data, places):
        found += stream.feed(piece)
    assert found == events
    assert stream.flush() == []


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data:tight\n\n", [b"tight"]),
        (b"data:  one space is kept\n\n", [b" one space is kept"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": comment\nevent: x\nid: 1\n\n", []),
        (b"\n\n\n", []),
    ],
)
def test_lines_are_read_as_the_standard_says(data: bytes, events: list[bytes]) -> None:
    assert SseDecoder().feed(data) == events


def test_the_end_completes_an_event_without_its_line_break() -> None:
    stream = SseDecoder()
    assert stream.feed(b"data: last") == []
    assert stream.flush() == [b"last"]
    assert stream.flush() == []


def test_a_line_without_end_is_given_up() -> None:
    stream = SseDecoder()
    with pytest.raises(ResponseTooLarge, match="an event of the stream"):
        stream.feed(b"x" * (MAX_EVENT_BYTES + 1))


@pytest.mark.parametrize("line", [b"data: 0123456789\n", b"data: "])
def test_an_event_of_many_lines_or_chunks_has_the_same_limit(line: bytes) -> None:
    stream = SseDecoder(100)

    def feed_all() -> None:
        for _ in range(40):
            stream.feed(line)

    with pytest.raises(ResponseTooLarge):
        feed_all()
