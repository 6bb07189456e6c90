"""Splitting: what fits, what is kept, what is never torn apart."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_channels.text.raw_markdown_splitting import find_code_fences, split_text
from sophon_channels.text.utf16 import utf16_length

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"

EMOJI = (FAMILY, FLAG, "e\u0301", "\U0001f44d\U0001f3fd", "1\ufe0f\u20e3")
FENCES = ("```\n", "```py\n", "\n```\n", "~~~~\n")
INLINE = ("`code`", "**bold**", "[a](https://b.example)", "&amp;")
PIECES = st.sampled_from(("a", "word ", "\n", "\n\n", "\r\n", "    ", ". ", "字", "\ud83d", *EMOJI, *FENCES, *INLINE))
MARKDOWN = st.lists(PIECES, max_size=200).map("".join) | st.text(max_size=300)


def words(text: str) -> str:
    """All that is neither white space nor of a code block's own lines."""
    kept = (line for line in text.splitlines() if not re.match(r" {0,3}(```|~~~)", line))
    return "".join("".join(kept).split())


def test_a_text_that_fits_stays_as_it_is() -> None:
    assert split_text("two  words\n\n", 16) == ["two  words\n\n"]


@pytest.mark.parametrize("blank", ["", " ", "\n\n \t", "\n" * 100])
def test_nothing_to_read_is_nothing_to_send(blank: str) -> None:
    assert split_text(blank, 16) == []


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="16 units"):
        split_text("text", 15)


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        ("one two three\n\nfour five six", 20, ["one two three", "four five six"]),
        ("one two three\nfour five six", 20, ["one two three", "four five six"]),
        ("It is done. It was long", 16, ["It is done.", "It was long"]),
        ("one two three four five", 16, ["one two three", "four five"]),
        ("a" * 40, 16, ["a" * 16, "a" * 16, "a" * 8]),
        ("see [the page](https://a.example/b) now", 36, ["see [the page](https://a.example/b)", "now"]),
        ("so **it is bold here** yes", 24, ["so **it is bold here**", "yes"]),
        ("is R&amp;D at work", 16, ["is R&amp;D at", "work"]),
    ],
)
def test_it_cuts_where_a_reader_would(text: str, limit: int, parts: list[str]) -> None:
    assert split_text(text, limit) == parts


def test_a_code_block_is_closed_and_opened_again_in_its_language() -> None:
    code = "\n".join(f"line {number}" for number in range(6))
    parts = split_text(f"Look:\n```py\n{code}\n```\nDone.", 40)
    assert parts == [
        "Look:\n```py\nline 0\nline 1\nline 2\n```",
        "```py\nline 3\nline 4\nline 5\n```\nDone.",
    ]


def test_a_block_is_never_parted_from_its_first_line() -> None:
    parts = split_text("Words of a preface, twenty-five\n```py\ncode()\n```", 40)
    assert parts == ["Words of a preface, twenty-five", "```py\ncode()\n```"]


def test_a_longer_marker_survives_the_shorter_ones_inside() -> None:
    text = "````md\n" + "```py\nx\n```\n" * 8 + "````"
    parts = split_text(text, 40)
    assert all(part.startswith("````md\n") and part.endswith("\n````") for part in parts)


@pytest.mark.parametrize("whole", [FAMILY, FLAG, "e\u0301", "\U0001f44d\U0001f3fd", "1\ufe0f\u20e3", "\ud83d\ude00"])
def test_what_looks_like_one_character_stays_one(whole: str) -> None:
    for shift in range(12):
        parts = split_text("x" * shift + whole * 30, 16)
        assert sum(part.count(whole) for part in parts) == 30


def test_other_units_can_be_counted() -> None:
    parts = split_text("ü" * 20, 20, measure=lambda text: len(text.encode()))
    assert parts == ["ü" * 10, "ü" * 10]


@given(MARKDOWN, st.integers(16, 120))
def test_every_part_fits_and_has_something_to_read(text: str, limit: int) -> None:
    parts = split_text(text, limit)
    assert all(utf16_length(part) <= limit and part.strip() for part in parts)


@given(MARKDOWN, st.integers(60, 200))
def test_no_word_is_lost_doubled_or_moved(text: str, limit: int) -> None:
    assert "".join(words(part) for part in split_text(text, limit)) == words(text.replace("\r\n", "\n"))


@given(st.lists(st.text("abc \n", min_size=1, max_size=90), max_size=8), st.integers(40, 100))
def test_code_stays_code_and_prose_prose(stretches: list[str], limit: int) -> None:
    text = "".join(f"\nPROSE\n```py\n{code}\n```" for code in stretches)
    for part in split_text(text, limit):
        blocks = find_code_fences(part)
        assert all(block.end > block.body_end and block.info == "py" for block in blocks)
        inside = "".join(part[block.body_start : block.body_end] for block in blocks)
        assert "PROSE" not in inside
        outside = part
        for block in reversed(blocks):
            outside = outside[: block.start] + outside[block.end :]
        assert not set(outside) & set("abc`")


def test_a_long_hostile_text_is_split_in_moments() -> None:
    for text in ("`" * 200_000, "```\n" * 50_000, "[" * 200_000, "\U0001f1e9" * 100_000, "\u0301" * 100_000):
        assert all(utf16_length(part) <= 4096 for part in split_text(text, 4096))
