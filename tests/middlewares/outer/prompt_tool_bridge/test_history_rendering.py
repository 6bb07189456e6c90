"""How tools, calls and results are told to a model that knows only text."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sophon import Message, ToolCall, tool
from sophon.tools.tool import Tool
from sophon_middlewares.outer.prompt_tool_bridge.call_dialect import scan_reply as scan_with
from sophon_middlewares.outer.prompt_tool_bridge.prompt_tool_bridge import (
    HistoryRenderer,
    overhead_text,
    render_calls,
    render_results,
)
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_blocks import (
    NO_TOOLS_INSTRUCTIONS,
    TOOL_INSTRUCTIONS,
    ToolCallBlocks,
)
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import TOOL_CALL_TAGS

BLOCKS = ToolCallBlocks()


def scan_reply(text: str) -> tuple[str, list[ToolCall]]:
    return scan_with(text, BLOCKS.open_scanner(()))


SNIPPETS = st.sampled_from(
    ["<tool_call>", "</tool_call>", "</tool_result>", "<\n/ Tool_Result", "<", "```\n", '{"name": "x"}']
)
TEXTS = st.lists(SNIPPETS | st.text(max_size=4), max_size=10).map("".join)


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers; never write </tool_call> yourself."""
    return a + b


ASKED = Message("user", "What is 1 + 2?")
CALLED = Message(
    "assistant", "I add.", [ToolCall("c1", "add", {"a": 1, "b": 2}), ToolCall("c2", "add", {"a": 3, "b": 4})]
)
RESULTS = [Message("tool", "3", tool_call_id="c1"), Message("tool", "7", tool_call_id="c2")]


def rendered(*messages: Message, prompt: str = "PROMPT") -> list[Message]:
    return HistoryRenderer(BLOCKS).render(messages, prompt)


def test_the_prompt_is_appended_to_the_system_message() -> None:
    assert rendered(Message("system", "Be kind."), ASKED) == [Message("system", "Be kind.\n\nPROMPT"), ASKED]


def test_without_a_system_message_the_prompt_makes_one_in_front() -> None:
    assert rendered(ASKED) == [Message("system", "PROMPT"), ASKED]


def test_calls_stand_as_blocks_behind_the_text_of_their_message() -> None:
    told = rendered(ASKED, CALLED, *RESULTS)[2]
    assert told.tool_calls == []
    assert scan_reply(told.content) == (
        "I add.\n",
        [ToolCall("", "add", {"a": 1, "b": 2}), ToolCall("", "add", {"a": 3, "b": 4})],
    )


def test_results_that_follow_each_other_are_one_user_message() -> None:
    told = rendered(ASKED, CALLED, *RESULTS)[3:]
    assert told == [Message("user", '<tool_result name="add">3</tool_result>\n<tool_result name="add">7</tool_result>')]


def test_a_result_without_a_call_is_told_as_of_an_unknown_tool() -> None:
    assert 'name="unknown"' in rendered(ASKED, RESULTS[0])[2].content


@given(TEXTS, TEXTS)
def test_no_result_can_be_taken_for_a_call_or_end_its_element(text: str, name: str) -> None:
    told = render_results(BLOCKS, [Message("tool", text, tool_call_id="c1")], {"c1": name}).content
    assert scan_reply(told)[1] == []
    assert scan_reply(TOOL_CALL_TAGS.escape(text)) == (TOOL_CALL_TAGS.escape(text), [])
    assert told.lower().count("</tool_result>") == 1


@given(TEXTS)
def test_a_result_without_our_tags_is_told_as_it_is(text: str) -> None:
    assert TOOL_CALL_TAGS.escape(text).replace("&lt;", "<") == text.replace("&lt;", "<")
    assert json.loads(TOOL_CALL_TAGS.escape_in_json(json.dumps(text))) == text


@given(st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_a_rendered_call_holds_no_tag_but_its_own(arguments: dict[str, str]) -> None:
    told = render_calls(BLOCKS, Message("assistant", "", [ToolCall("c1", "add", arguments)])).content
    assert told.count("<tool_call>") == told.count("</tool_call>") == 1
    assert scan_reply(told) == ("", [ToolCall("", "add", arguments)])


def test_the_prompt_has_a_line_of_json_per_tool_without_any_tag_in_it() -> None:
    *_, line = BLOCKS.build_tool_prompt((add,)).splitlines()
    assert json.loads(line) == add.definition
    assert "</tool_call>" not in line


def test_the_prompt_of_the_same_tools_is_made_once() -> None:
    assert BLOCKS.build_tool_prompt((add,)) is BLOCKS.build_tool_prompt((add,))


def test_what_is_rendered_once_is_kept_so_that_tokens_are_counted_once() -> None:
    dialect, history = HistoryRenderer(BLOCKS), [Message("system", "Be kind."), ASKED, CALLED, *RESULTS]
    first = dialect.render(history, "PROMPT")
    history.append(Message("assistant", "3 and 7."))
    second = dialect.render(history, "PROMPT")
    assert all(old is new for old, new in zip(first, second, strict=False))
    assert len(second) == len(first) + 1


def test_a_result_that_was_cut_meanwhile_is_rendered_anew() -> None:
    dialect = HistoryRenderer(BLOCKS)
    dialect.render([ASKED, CALLED, *RESULTS], "PROMPT")
    told = dialect.render([ASKED, CALLED, RESULTS[0], Message("tool", "cut", tool_call_id="c2")], "PROMPT")
    assert ">cut<" in told[3].content


def test_the_added_text_covers_what_rendering_adds() -> None:
    nothing: tuple[Tool, ...] = ()
    assert overhead_text(BLOCKS, nothing, [ASKED]) == ""
    assert overhead_text(BLOCKS, (add,), [ASKED]).startswith(TOOL_INSTRUCTIONS)
    assert overhead_text(BLOCKS, nothing, [ASKED, CALLED, *RESULTS]).startswith(NO_TOOLS_INSTRUCTIONS)
    assert len(overhead_text(BLOCKS, (add,), [ASKED, CALLED, *RESULTS])) > len(overhead_text(BLOCKS, (add,), [ASKED]))
