"""Arguments that arrive in pieces are put together in linear time, however often their call is announced."""

import json
import sys
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon.models.providers.openai.tool_call_assembly import (
    JsonObjectScanner,
    ToolCallAssembler,
    ToolCallDelta,
    parse_tool_arguments,
)
from tests.tables import table

LARGE = json.dumps({"text": "}" * 100_000})
"""100 kB of which almost every character looks like the end."""


def assemble(text: str, *, is_repeated: bool) -> ToolCallAssembler:
    """Feed a text character by character; with `is_repeated` each piece has the header of the call."""
    assembler = ToolCallAssembler()
    for number, character in enumerate(text):
        has_header = is_repeated or not number
        assembler.add_delta(ToolCallDelta("c" if has_header else "", 0, "pay" if has_header else "", character), 0)
    return assembler


@table("is_repeated", [False, True])
def test_a_large_object_in_single_characters_is_joined_and_parsed_once(is_repeated: bool) -> None:
    counted: Counter[str] = Counter()

    def count(_frame: object, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ in ("join", "strip", "rstrip"):
            counted[function.__name__] += 1

    assembler = assemble(LARGE, is_repeated=is_repeated)
    sys.setprofile(count)
    try:
        assembler.add_delta(ToolCallDelta("c", 0, "pay", ""), 0)
        assembler.add_delta(ToolCallDelta("c", 0, "pay", " "), 0)
        [call] = assembler.to_calls([])
    finally:
        sys.setprofile(None)
    assert call.arguments == json.loads(LARGE)
    assert counted["join"] <= 2


@table("is_repeated", [False, True])
def test_no_delta_joins_what_came_before(is_repeated: bool) -> None:
    joined = 0

    def count(_frame: object, event: str, function: Any) -> None:
        nonlocal joined
        joined += event == "c_call" and function.__name__ in ("join", "rstrip")

    sys.setprofile(count)
    try:
        assemble(LARGE[:20_000], is_repeated=is_repeated)
    finally:
        sys.setprofile(None)
    assert joined == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a"\\\\{}[] ', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='"{}', max_size=2), inner, max_size=3),
    max_leaves=10,
)
TEXTS = JSON.map(json.dumps) | st.text(alphabet='{}[]"\\\\a: \n', max_size=20)


@given(TEXTS, st.data())
def test_a_valid_object_is_closed_at_its_end_and_not_before(text: str, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(text)))
    scanner = JsonObjectScanner()
    for character in text[:end]:
        scanner.feed(character)
    whole = JsonObjectScanner()
    whole.feed(text[:end])
    assert whole.is_closed == scanner.is_closed
    arguments, problem = parse_tool_arguments(text[:end])
    if problem is None and text[:end].strip() not in ("", "null"):
        assert scanner.is_closed
    elif scanner.is_closed:
        assert (arguments, problem is not None) == ({}, True)
