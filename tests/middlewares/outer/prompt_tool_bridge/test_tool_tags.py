"""Tags in text that must not contain any: whatever blanks are in them, and in linear time."""

from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import TOOL_CALL_TAGS
from tests.tables import table


@table("tag", ["<tool_call>", "< \n/ tool_result>", "</  TOOL_CALL"])
def test_a_tag_is_escaped(tag: str) -> None:
    assert TOOL_CALL_TAGS.escape(f"a {tag} < b") == f"a &lt;{tag[1:]} < b"


def test_blanks_behind_a_bracket_are_read_once() -> None:
    text = "<" + " " * 200_000  # each blank read again from every one before it, this takes minutes
    assert TOOL_CALL_TAGS.escape(text) == text
