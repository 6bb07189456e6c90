import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import ResponseTooLarge
from sophon.models.providers.http.sse import MAX_EVENT_BYTES, SseDecoder
from tests.tables import table

EVENTS = [b'{"a": 1}', "Grüße 🐈".encode(), b"[DONE]", b""]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in itertools.pairwise(borders)]


@given(
    st.lists(st.sampled_from(EVENTS), max_size=6),
    st.lists(st.integers(0, 500)),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_events_come_out_whole_wherever_the_network_cut_them(
    events: list[bytes], places: list[int], line_break: bytes
) -> None:
    data = b"".join(b"data: " + event + line_break * 2 for event in events)
    stream, found = SseDecoder(), list[bytes]()
    for piece in cut(data, places):
        found += stream.feed(piece)
    assert found == events
    assert stream.flush() == []


def read_as_the_standard_says(data: bytes) -> list[bytes]:
    """The reference: the whole stream at once, line by line; the end completes an event."""
    text = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events, lines = list[bytes](), list[bytes]()
    for line in [*text.split(b"\n"), b""]:
        name, _, value = line.partition(b":")
        if not line and lines:
            events.append(b"\n".join(lines))
            lines = []
        elif name == b"data":
            lines.append(value.removeprefix(b" "))
    return events


PARTS = [
    b"data: ",
    b"data:",
    b"data",
    b": comment",
    b"event: x",
    b"id",
    b":",
    b" ",
    b"x",
    "ü🐈".encode(),
    b"database: y",
]


@given(
    st.lists(st.one_of(st.sampled_from(PARTS), st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=40),
    st.booleans(),
    st.lists(st.integers(0, 500)),
)
def test_every_stream_is_read_as_by_the_reference_wherever_it_is_cut(
    parts: list[bytes], has_mark: bool, places: list[int]
) -> None:
    data = (b"\xef\xbb\xbf" if has_mark else b"") + b"".join(parts)
    stream, found = SseDecoder(), list[bytes]()
    for piece in cut(data, places):
        found += stream.feed(piece)
    assert found + stream.flush() == read_as_the_standard_says(data)


def test_all_events_of_a_read_are_returned_at_once() -> None:
    assert SseDecoder().feed(b"data: a\n\ndata: b\n\ndata: c\n\n") == [b"a", b"b", b"c"]


@table(
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


@table("line", [b"data: 0123456789\n", b"data: "])
def test_an_event_of_many_lines_or_chunks_has_the_same_limit(line: bytes) -> None:
    stream = SseDecoder(100)

    def feed_all() -> None:
        for _ in range(40):
            stream.feed(line)

    with pytest.raises(ResponseTooLarge):
        feed_all()
