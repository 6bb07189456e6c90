"""Streaming scanner: finds tool calls in a model's reply, and separates the visible text."""

import re

from sophon.messages import ToolCall
from sophon_middlewares.outer.prompt_tool_bridge.text_without_tags import VisibleTextBuffer
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_block_end import (
    MAX_BLOCK_CHARACTERS,
    BlockEnd,
    ToolCallBuffer,
)
from sophon_middlewares.outer.prompt_tool_bridge.tool_call_json import build_malformed_call, parse_call
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import TOOL_CALL_TAGS

MAX_RESCANS = 8
"""Maximum rescans per reply because of missing quotes; keeps the time linear."""

_NAME_SEARCH_CHARACTERS = 1024
"""Characters of an overlong or unclosed block that are searched for its tool name."""

_UNCLOSED = "the block was not closed (to show the tag without calling, put it in a code fence)"
_NESTED = "another block began before this one was closed"
_OVERLONG = f"the block is longer than {MAX_BLOCK_CHARACTERS} characters"
_INCOMPLETE_TAG = "the opening tag has no >"


class ToolCallScanner:
    """`feed` and `close` return visible text; `calls` holds the calls that were found, each with the id "".

    - A block is never visible. A block that cannot be parsed, or is not closed at the end, is a malformed call.
    - In a code fence blocks are plain text. Inline code is no fence: small models put real calls in backticks.
    - A `<tool_result>` in a reply is quoted or invented: its tags are dropped, blocks in it are shown with `&lt;` and
      do not run. Closing tags without an opening one are dropped.

    Neither text nor calls depend on how the text was chunked, and the time is linear in its length.
    """

    __slots__ = ("_block", "_in_tool_result", "_rescans", "_rest", "_visible", "calls")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._visible = VisibleTextBuffer()
        self._block: ToolCallBuffer | None = None
        self._in_tool_result = False
        self._rescans = 0
        self._rest = ""
        """What needs the next piece: at most `max_partial_characters` of the tags."""

    def feed(self, text: str) -> str:
        """Process the next piece of the reply; return the text that has become visible."""
        self._advance(self._rest + text, final=False)
        return self._visible.take()

    def close(self) -> str:
        """Process the end of the reply; return the remaining visible text."""
        self._advance(self._rest, final=True)
        while self._block is not None:
            self._advance(self._end_block(self._block, _UNCLOSED), final=True)
        return self._visible.close()

    def _advance(self, text: str, *, final: bool) -> None:
        position = 0
        while position < len(text):
            if self._block is None:
                end = self._scan_outside(text, position, final=final)
                if end == position:
                    break
                position = end
                continue
            position, ending = self._block.consume(text, position, final=final)
            if ending is BlockEnd.NONE:
                break
            again = self._end_block(self._block, _NESTED if ending is BlockEnd.NESTED else None)
            if again:
                text, position = again + text[position:], 0
            elif ending is BlockEnd.CLOSED and (tag := TOOL_CALL_TAGS.tag.match(text, position)):
                position = tag.end()
        self._rest = text[position:]

    def _scan_outside(self, text: str, position: int, *, final: bool) -> int:
        """Process text outside a block up to and including the next tag; return the new position."""
        start = text.find("<", position)
        if start < 0:
            self._visible.append(text[position:])
            return len(text)
        if start > position:
            self._visible.append(text[position:start])
        if self._visible.in_code_fence:
            self._visible.append("<")
            return start + 1
        if not final and TOOL_CALL_TAGS.partial.match(text, start):
            return start
        tag = TOOL_CALL_TAGS.tag.match(text, start)
        if tag is None:
            self._visible.append("<")
            return start + 1
        self._handle_tag(tag)
        return tag.end()

    def _handle_tag(self, tag: re.Match[str]) -> None:
        opens, name = tag["open"] is not None, (tag["open"] or tag["close"]).lower()
        if self._in_tool_result and name == "tool_call":
            self._visible.append(TOOL_CALL_TAGS.escape(tag[0]))
            return
        self._visible.mark_removed()
        if name == "tool_result":
            self._in_tool_result = opens
        elif opens and (tag["attributes"] or "").endswith("/>"):
            self.calls.append(parse_call(""))
        elif opens:
            fault = None if tag["attributes"] else _INCOMPLETE_TAG
            self._block = ToolCallBuffer(allow_tags_in_strings=self._rescans < MAX_RESCANS, error=fault)

    def _end_block(self, block: ToolCallBuffer, reason: str | None) -> str:
        """End the block, as malformed if there is a reason; return text that must be scanned again."""
        self._block = None
        call = _to_call(block, block.text, reason)
        again = ""
        if block.has_tag_in_string and call.malformed is not None:
            self._rescans += 1
            text, again = block.split_at_closing_tag()
            call = _to_call(block, text, None)
        self.calls.append(call)
        return again


def _to_call(block: ToolCallBuffer, text: str, reason: str | None) -> ToolCall:
    reason = block.error or (_OVERLONG if block.is_overlong else reason)
    return build_malformed_call(text[:_NAME_SEARCH_CHARACTERS], reason) if reason else parse_call(text)
