"""Reading bodies: limits, packing, charsets."""

import gzip
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.errors import ToolError
from sophon.tools.http.client import decode_body, read_limited_body
from tests.tables import table

# Set here, while pytest collects: tests/conftest.py marks too late for tables and for hypothesis.
pytestmark = pytest.mark.anyio


async def in_pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


@settings(deadline=None)
@given(
    body=st.binary(max_size=400),
    size=st.integers(1, 50),
    limit=st.integers(0, 500),
    packing=st.sampled_from(["", "gzip"]),
)
async def test_a_cut_keeps_exactly_the_first_bytes(body: bytes, size: int, limit: int, packing: str) -> None:
    sent = gzip.compress(body) if packing else body
    kept, more = await read_limited_body(in_pieces(sent, size), packing, limit)
    assert kept == body[:limit]
    assert more == (len(body) > limit)


async def test_gzip_members_in_a_row_are_one_body() -> None:
    sent = gzip.compress(b"one ") + gzip.compress(b"two")
    assert await read_limited_body(in_pieces(sent, 7), "gzip", 100) == (b"one two", False)


async def test_gzip_that_breaks_off_is_told_as_cut() -> None:
    kept, more = await read_limited_body(in_pieces(gzip.compress(bytes(range(256)) * 9)[:200], 64), "GZIP", 10_000)
    assert kept
    assert more


async def test_gzip_that_is_none_is_a_clear_error() -> None:
    with pytest.raises(ToolError, match="not valid gzip"):
        await read_limited_body(in_pieces(b"plain text", 64), "gzip", 100)


@table("packing", ["br", "deflate", "gzip, gzip", "zstd"])
async def test_a_packing_that_was_not_asked_for_is_refused(packing: str) -> None:
    with pytest.raises(ToolError, match="only gzip"):
        await read_limited_body(in_pieces(b"x", 1), packing, 100)


@table(
    ("body", "content_type", "text"),
    [
        (b"gr\xc3\xbcezi", "", "grüezi"),
        (b"gr\xc3\xbcezi", "text/plain; charset=UTF-8", "grüezi"),
        (b"\xef\xbb\xbfx", "text/plain", "x"),
        (b"gr\xfcezi", "text/html; charset=iso-8859-1", "grüezi"),
        (b"gr\xfcezi", 'text/html; charset="windows-1252"', "grüezi"),
        (b"\x82\xa0", "text/html;charset=Shift_JIS", "あ"),
        (b"\xff", "text/plain", "\ufffd"),
        (b"x", "text/plain; charset=nonsense", "x"),
        (b"78", "text/plain; charset=hex", "78"),
        (b"x\x9c", "text/plain; charset=zlib", "x\ufffd"),
        (b"a-b", "text/plain; charset=punycode", "a-b"),
        (b"\\x41", "text/plain; charset=unicode_escape", "\\x41"),
    ],
)
def test_text_is_read_in_the_charset_it_names_if_that_is_one(body: bytes, content_type: str, text: str) -> None:
    assert decode_body(body, content_type) == text


def test_a_character_parted_by_the_cut_is_dropped() -> None:
    assert decode_body("aü".encode()[:2], "", is_complete=False) == "a"
