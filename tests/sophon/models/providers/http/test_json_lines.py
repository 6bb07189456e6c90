import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import ResponseTooLarge
from sophon.models.providers.http.json_lines import JsonLinesDecoder
from tests.tables import table

VALUES: list[Any] = [{"a": 1}, {}, {"text": "Grüße 🐈\n"}, [1, 2], "x", None]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in itertools.pairwise(borders)]


@given(
    st.lists(st.sampled_from(VALUES), max_size=6),
    st.lists(st.integers(0, 500)),
    st.sampled_from([b"\n", b"\r\n", b"\n \n"]),
    st.booleans(),
)
def test_lines_come_out_whole_wherever_the_network_cut_them(
    values: list[Any], places: list[int], line_break: bytes, is_last_break_missing: bool
) -> None:
    lines = [json.dumps(value, ensure_ascii=False).encode() for value in values]
    data = line_break.join(lines) if is_last_break_missing else b"".join(line + line_break for line in lines)
    decoder, found = JsonLinesDecoder(1000), list[bytes]()
    for piece in cut(data, places):
        found += decoder.feed(piece)
    assert found + decoder.flush() == lines
    assert decoder.flush() == []


@table("pieces", [[b"x" * 101], [b"x" * 60] * 2, [b"a\n" + b"x" * 101], [b"x" * 60, b"x" * 60 + b"\n"]])
def test_a_line_beyond_the_limit_is_refused(pieces: list[bytes]) -> None:
    decoder = JsonLinesDecoder(100)
    for piece in pieces[:-1]:
        decoder.feed(piece)
    with pytest.raises(ResponseTooLarge, match="a line of the stream"):
        decoder.feed(pieces[-1])


def test_many_lines_below_the_limit_are_read() -> None:
    assert len(JsonLinesDecoder(100).feed(b'{"a": 1}\n' * 1000)) == 1000
