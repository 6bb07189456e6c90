"""What a model without function calling writes: which calls are in it, and what a person sees of it."""

import json
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sophon.messages import ToolCall
from sophon_middlewares.outer.prompt_tool_bridge.call_dialect import scan_reply as scan_with
from sophon_middlewares.outer.prompt_tool_bridge.text_without_tags import CodeFenceTracker
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_block_end import MAX_BLOCK_CHARACTERS
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_json import build_malformed_call, parse_call, render_call
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_scanner import MAX_RESCANS, ToolCallScanner
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import TOOL_CALL_TAGS
from tests.properties import examples
from tests.tables import table

CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
ADD = ToolCall("", "add", {"a": 1})

FRAGMENTS = [
    "<tool_call>",
    "</tool_call>",
    "<tool_call >",
    "<TOOL_CALL\n>",
    "</ tool_call >",
    "< tool_call",
    '<tool_call id="1">',
    "<tool_call/>",
    "<tool_result>",
    '<tool_result name="x">',
    "</tool_result>",
    "<tool_shed>",
    "<tool_calls>",
    "<tool_cal",
    "</tool_",
    "<",
    "a < b",
    ">",
    "/",
    "```",
    "````",
    "~~~",
    "`",
    "\n",
    "\n```\n",
    "\n~~~\n",
    "   ",
    "- ",
    "> ",
    "{",
    "}",
    '"',
    "\\",
    '\\"',
    "tool_call",
    "text",
    "é😀",
    CALL,
    '{"name": "add", "arguments": {"a": 1}}',
    '{"name": "add", "arguments": {"text": "</tool_call>"}}',
    '{"name": "a</tool_call>',
]
REPLIES = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=14).map("".join)
TAG_SEEN = re.compile(r"<\s{0,4}/?\s{0,4}tool_(?:call|result)(?![\w.:-])", re.IGNORECASE)


def scan_reply(text: str) -> tuple[str, list[ToolCall]]:
    return scan_with(text, ToolCallScanner())


def scan_in_pieces(text: str, sizes: list[int]) -> tuple[str, list[ToolCall]]:
    scanner = ToolCallScanner()
    shown, position = "", 0
    for size in sizes:
        shown += scanner.feed(text[position : position + size])
        position += size
    return shown + scanner.feed(text[position:]) + scanner.close(), scanner.calls


@given(REPLIES, st.lists(st.integers(0, 9), max_size=60))
@settings(max_examples=examples(150))
def test_neither_text_nor_calls_depend_on_how_the_reply_was_cut(reply: str, sizes: list[int]) -> None:
    assert scan_in_pieces(reply, sizes) == scan_reply(reply)
    assert scan_in_pieces(reply, [1] * len(reply)) == scan_reply(reply)


@given(REPLIES)
@settings(max_examples=examples(150))
@example("```\n" + CALL + "\n```\n" + CALL)
@example("<tool<tool_call>_call>")
def test_no_tag_is_seen_outside_a_code_fence(reply: str) -> None:
    shown, _ = scan_reply(reply)
    fences, position = CodeFenceTracker(), 0
    for tag in TAG_SEEN.finditer(shown):
        fences.feed(shown[position : tag.start()])
        position = tag.start()
        assert fences.is_open, shown


@given(REPLIES, st.lists(st.integers(1, 5), max_size=30))
def test_what_was_shown_is_never_taken_back(reply: str, sizes: list[int]) -> None:
    scanner, shown, position = ToolCallScanner(), "", 0
    for size in sizes:
        shown += scanner.feed(reply[position : position + size])
        position += size
        assert scan_reply(reply)[0].startswith(shown)


@given(st.text())
def test_a_reply_without_a_tag_is_shown_as_it_is(text: str) -> None:
    assert scan_reply(text) == (text, [])


ARGUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | REPLIES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(REPLIES, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), ARGUMENTS, max_size=4), st.sampled_from(["add", "memory.write", "größe"]))
def test_a_call_that_is_written_reads_the_same(arguments: dict[str, object], name: str) -> None:
    call = ToolCall("", name, arguments)
    assert scan_reply(render_call(call)) == ("", [call])


@given(st.dictionaries(st.text(max_size=8), ARGUMENTS, max_size=4))
def test_a_call_whose_strings_hold_raw_tags_reads_the_same(arguments: dict[str, object]) -> None:
    block = json.dumps({"name": "add", "arguments": arguments}, ensure_ascii=False)
    assert scan_reply(f"<tool_call>{block}</tool_call>") == ("", [ToolCall("", "add", arguments)])


@table(
    ("reply", "shown"),
    [
        (CALL, ""),
        (f"I add.\n{CALL}", "I add.\n"),
        (f"I add.\n{CALL}\n\nDone.", "I add.\nDone."),
        (f"\n\n {CALL}\n", ""),
        (f"One {CALL} two", "One  two"),
        (CALL.replace("<tool_call>", "<Tool_Call >"), ""),
        (CALL.replace("<tool_call>", '<tool_call id="1">'), ""),
        (CALL.replace("</tool_call>", "< / TOOL_CALL\n>"), ""),
        (f"</tool_call>{CALL}</tool_call>", ""),
        (f"Use `{CALL}`", "Use ``"),
        (f"```\ncode\n```\n{CALL}", "```\ncode\n```\n"),
        (f'<tool_result name="x">42</tool_result>{CALL}', "42"),
    ],
)
def test_a_block_is_run_and_not_seen(reply: str, shown: str) -> None:
    assert scan_reply(reply) == (shown, [ADD])


@table(
    "reply",
    [
        f"```\n{CALL}\n```",
        f"```xml\n{CALL}\n```\n",
        f"~~~\n{CALL}\n~~~",
        f"    ```\n    {CALL}\n    ```",
        f"````\n```\n{CALL}\n```\n````",
        f"~~~\n```\n{CALL}\n~~~",
        f"- ```\n  {CALL}\n  ```",
        f"> ```\n> {CALL}\n> ```",
        f"2. ~~~json\n   {CALL}\n",
        f"```{CALL}```",
        f"```\n{CALL}",
        f"```\n``` no end\n{CALL}\n```",
    ],
)
def test_a_block_in_a_code_fence_is_text(reply: str) -> None:
    assert scan_reply(reply) == (reply, [])


@table(
    "text",
    [
        "<tool_shed>",
        "a < b",
        "<tool_cal",
        "</tool_",
        "<",
        "<tool_calls>",
        "<tool_call-x>",
        "<tool_call.x>",
        "tool_call>",
    ],
)
def test_what_only_looked_like_a_tag_is_released(text: str) -> None:
    assert scan_reply(text) == (text, [])
    assert scan_reply(f"{text} end {CALL}") == (f"{text} end ", [ADD])


def test_text_in_front_of_a_tag_is_not_held_back() -> None:
    scanner = ToolCallScanner()
    assert scanner.feed("I look. <tool_") == "I look. "
    assert scanner.feed("shed> is") == "<tool_shed> is"


def test_a_block_in_a_quoted_result_does_not_run_and_shows_no_tag() -> None:
    shown, calls = scan_reply(f'It said: <tool_result name="x">do {CALL}</tool_result> so I did not.')
    assert calls == []
    assert shown.startswith("It said: do &lt;tool_call>{")
    assert shown.endswith(" so I did not.")


@table(
    ("body", "name", "reason"),
    [
        ("", "unknown", "empty"),
        ("not json", "unknown", "not valid JSON"),
        ('{"name": "add", "arguments": {"a": }}', "add", "not valid JSON"),
        ('{"name": "add"} {"name": "mul"}', "add", "not valid JSON"),
        ('{"arguments": {}}', "unknown", '"name"'),
        ('{"name": 3}', "unknown", '"name"'),
        ('{"name": "add", "arguments": [1]}', "add", "no JSON object"),
        ('{"name": "add", "arguments": "1"}', "add", "no JSON object"),
        ('{"name": "add", "arguments": "{"}', "add", "not valid JSON"),
        ('{"name": "add", "parameters": {"a": 1}}', "add", "'parameters'"),
        ('{"name": "add", "arguments": {"a": NaN}}', "add", "NaN"),
        ('{"name": "add", "arguments": {"a": 1e999}}', "add", "too large"),
        ('["add"]', "unknown", "no JSON object"),
        ('{"name": "add", "arguments": {"a": 1}, "arguments": {"a": 2}}', "add", "'arguments' is there twice"),
        ('{"name": "add", "name": "mul"}', "add", "'name' is there twice"),
        ('{"name": "add", "arguments": {"a": 1, "\\u0061": 2}}', "add", "'a' is there twice"),
        ('{"name": "add", "arguments": {"a": [{"b": {"c": 1, "c": 1}}]}}', "add", "'c' is there twice"),
        ('{"name": "add", "arguments": "{\\"a\\": 1, \\"a\\": 2}"}', "add", "'a' is there twice"),
        ('{"name": "add", "arguments": ' + '{"a":' * 100_000, "add", ""),
        ('{"name": "add", "arguments": {"a": ' + "9" * 5000 + "}}", "add", "not valid JSON"),
    ],
)
def test_a_block_that_is_no_call_is_malformed_and_never_guessed(body: str, name: str, reason: str) -> None:
    call = parse_call(body)
    assert (call.name, call.arguments) == (name, {})
    assert reason in (call.malformed or "the call was read")


@table(
    ("body", "arguments"),
    [
        ('{"name": "add"}', {}),
        ('{"name": "add", "arguments": null}', {}),
        ('{"name": "add", "arguments": ""}', {}),
        ('{"name": "add", "id": "call_1", "type": "function"}', {}),
        ('{"name": "add", "arguments": "{\\"a\\": 1}"}', {"a": 1}),
        ('\n {"arguments": {"a": "x\ny"}, "name": "add"}\n', {"a": "x\ny"}),
    ],
)
def test_what_can_mean_only_one_thing_is_read(body: str, arguments: dict[str, object]) -> None:
    assert parse_call(body) == ToolCall("", "add", arguments)


@table(
    ("reply", "shown", "names"),
    [
        ('Hm <tool_call>{"name": "add", "arg', "Hm ", ["add!"]),
        (f"<tool_call>{CALL}", "", ["unknown!", "add"]),
        (f'<tool_call>{{"name": "mul", {CALL} ok', " ok", ["mul!", "add"]),
        (f'<tool_call>{{"name": "mul</tool_call> then {CALL}!', " then !", ["unknown!", "add"]),
        ('<tool_call>{"name": "mul</tool_call> bye', " bye", ["unknown!"]),
        ('<tool_call>{"name": "add"}</tool_call', "", ["add!"]),
        ('<tool_call {"name": "add"}</tool_call>', "", ["add!"]),
        ("<tool_call", "", ["unknown!"]),
        (f"<tool_call/>{CALL}", "", ["unknown!", "add"]),
        (f"<tool_call>nonsense</tool_call>{CALL}{CALL}", "", ["unknown!", "add", "add"]),
    ],
)
def test_a_broken_block_is_malformed_and_the_rest_stands(reply: str, shown: str, names: list[str]) -> None:
    seen, calls = scan_reply(reply)
    assert [call.name + ("!" if call.malformed else "") for call in calls] == names
    assert seen.strip() == shown.strip()


def test_a_block_that_is_too_long_is_malformed_and_ends_at_its_tag() -> None:
    reply = (
        '<tool_call>{"name": "add", "arguments": {"a": "' + "x" * MAX_BLOCK_CHARACTERS + f'"}}}}</tool_call>ok {CALL}'
    )
    shown, calls = scan_reply(reply)
    assert (shown, [call.name for call in calls]) == ("ok ", ["add", "add"])
    assert "longer" in (calls[0].malformed or "")
    assert scan_in_pieces(reply, [MAX_BLOCK_CHARACTERS + 40, 7]) == (shown, calls)


def test_a_forgotten_quote_takes_no_more_than_its_own_block_however_much_follows() -> None:
    reply = '<tool_call>{"name": "add</tool_call>' + "x" * MAX_BLOCK_CHARACTERS + "y"
    shown, calls = scan_reply(reply)
    assert shown.endswith("xxy")
    assert len(calls) == 1


def test_forgotten_quotes_beyond_all_patience_end_at_the_first_closing_tag() -> None:
    shown, calls = scan_reply('<tool_call>{"name\\": "add</tool_call>-' * (MAX_RESCANS + 3))
    assert shown == "-" * (MAX_RESCANS + 3)
    assert all(call.malformed for call in calls)


@given(REPLIES, st.lists(st.integers(1, 5), max_size=30))
@example("<tool_call " + "x" * 500, [1] * 500)
@example("<" + " " * 500, [1] * 500)
@example("<tool_call>" + '\\"</tool_call>' * 40, [1] * 500)
@example('<tool_call>"' + "\\" * 500, [1] * 500)
def test_little_is_undecided_so_that_the_time_is_linear(reply: str, sizes: list[int]) -> None:
    scanner, position = ToolCallScanner(), 0
    for size in sizes:
        scanner.feed(reply[position : position + size])
        position += size
        assert len(scanner._rest) <= TOOL_CALL_TAGS.max_partial_characters


def test_a_malformed_call_keeps_the_name_that_it_seems_to_have() -> None:
    assert build_malformed_call('{"name": "add", oops', "why") == ToolCall("", "add", {}, "why")
