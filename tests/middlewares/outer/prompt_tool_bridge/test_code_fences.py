"""Whether a text stands inside a code fence, whatever pieces it comes in."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from sophon_middlewares.outer.prompt_tool_bridge.text_without_tags import CodeFenceTracker
from tests.properties import examples
from tests.tables import table

TEXTS = st.lists(
    st.sampled_from(["`", "```", "````", "~", "~~~", "\n", "\n", " ", "\t", "> ", "- ", "1. ", "x", "xml", "\r\n"]),
    max_size=24,
).map("".join)


def fenced(text: str) -> bool:
    """The same rules, line by line over a whole text."""
    fence = ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if fence:
            closing = re.fullmatch(rf"[ \t>]*{fence}{fence[0]}*[ \t\r]*", line)
            fence = "" if closing and number < len(lines) - 1 else fence
        elif opening := re.match(r"[ \t>\-*+.)0-9]*(`{3,}|~{3,})", line):
            closed = opening[1][0] == "`" and opening[1] in line[opening.end() :]
            fence = "" if closed else opening[1]
    return bool(fence)


@given(TEXTS)
@settings(max_examples=examples(200))
def test_following_a_text_comes_to_the_same_as_reading_it_by_lines(text: str) -> None:
    pieces, whole = CodeFenceTracker(), CodeFenceTracker()
    for character in text:
        pieces.feed(character)
    whole.feed(text)
    assert pieces.is_open == whole.is_open == fenced(text)


@table(
    ("text", "inside"),
    [
        ("```", True),
        ("``", False),
        ("text ```", False),
        ("```\ncode\n```", True),  # more may follow in the line
        ("```\ncode\n```\n", False),
        ("````\n```\n", True),
        ("```\n~~~\n", True),
        ("```\n``` x\n", True),
        ("~~~ ~~~\n", True),
        ("```one line``` and", False),
        ("> ```\n> ```\n", False),
    ],
)
def test_a_fence_is_open_until_its_own_kind_closes_it(text: str, inside: bool) -> None:
    fences = CodeFenceTracker()
    fences.feed(text)
    assert fences.is_open is inside
