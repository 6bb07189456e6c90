"""Reading markdown: which links there are, and that the work is bounded."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon_channels.text.markdown import MAX_UNLINKED_BRACKETS, runs_from_markdown
from sophon_channels.text.styled_text import to_plain_text
from tests.properties import examples

UNITS = (
    "[",
    "]",
    "(",
    "](",
    "![",
    "{",
    "*",
    "**",
    "_",
    "`",
    "~~",
    "<",
    ">",
    "|",
    "\n",
    "\\",
    "&",
    "- ",
    "a",
    " ",
    "[a](",
)
MAX_STEPS_PER_CHARACTER = 400


def count_calls(function: Callable[[str], Any], text: str) -> int:
    """How many functions run, of Python or C: work that does not depend on the machine."""
    count = 0

    def count_call(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        function(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("unit", ["[{", "[", "![", "[a", "[[]", "[{](", "_a_", "*a", "<a", "`a``", "- ", "> "])
@pytest.mark.parametrize("end", ["", "](https://a.example)"])
def test_reading_twice_the_text_is_twice_the_work(unit: str, end: str) -> None:
    once, twice = [count_calls(runs_from_markdown, unit * (size // len(unit)) + end) for size in (2000, 4000)]
    assert twice <= 2.6 * once + 1000
    assert twice <= MAX_STEPS_PER_CHARACTER * 4000


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.sampled_from(UNITS), min_size=1, max_size=4).map("".join))
def test_no_repeated_markup_is_expensive(unit: str) -> None:
    text = (unit * 1000)[:1000]
    assert count_calls(runs_from_markdown, text) <= MAX_STEPS_PER_CHARACTER * len(text) + 1000


@pytest.mark.parametrize(
    ("markdown", "links"),
    [
        ("[a](https://a.example) [b](HTTP://b.example)", ["https://a.example", "HTTP://b.example"]),
        ("[t](tg://resolve?domain=x)", []),
        ("[t](TG://user?id=1) ![i](tg://x)", []),
        ("<tg://x> <javascript:x> [m](data:text/html,x) [f](ftp://x)", []),
        ("[ " * MAX_UNLINKED_BRACKETS + "[a](https://a.example)", ["https://a.example"]),
    ],
)
def test_only_web_addresses_are_links(markdown: str, links: list[str]) -> None:
    assert [run.style.link for run in runs_from_markdown(markdown) if run.style.link] == links


def test_a_paragraph_of_brackets_keeps_its_text_and_other_paragraphs_their_links() -> None:
    runs = runs_from_markdown("[{" * 5000 + "[a](https://a.example)\n\n[b](https://b.example)")
    assert to_plain_text(runs).startswith("[{" * 5000 + "[a](https://a.example)")
    assert [run.style.link for run in runs if run.style.link] == ["https://b.example"]
