"""Finds tool calls in what a model writes, as it writes it, and tells what a person may see of it."""

import re

from sophon.messages import ToolCall
from sophon_middlewares.outer.bridge.tool_call_block import MOST_CHARACTERS, Ending, ToolCallBlock
from sophon_middlewares.outer.bridge.tool_call_text import malformed, read_call
from sophon_middlewares.outer.bridge.tool_tags import TAG, UNDECIDED, defanged
from sophon_middlewares.outer.bridge.visible_text import VisibleText

PATIENCE = 8
"""How often in a reply a forgotten quote may make the scanner read on and go back; it keeps the time linear."""

_NAMED_IN = 1024
"""The name of an overlong or unclosed block is looked for in so many characters."""

_UNCLOSED = "the block was not closed (to show the tag without calling, put it in a code fence)"
_NESTED = "another block began before this one was closed"
_OVERLONG = f"the block is longer than {MOST_CHARACTERS} characters"
_TORN = "the opening tag has no >"


class ToolCallScanner:
    """`feed` and `close` give text that may be shown; `calls` holds what was found, each with the id "".

    - A block is never shown. One that cannot be read is a `malformed` call; so is one that is not closed at the end.
    - In a code fence blocks are plain text. Inline code is no fence: small models put real calls in backticks.
    - A `<tool_result>` in a reply is quoted or invented: its tags are dropped, blocks in it are shown with `&lt;` and
      do not run. Closing tags without an opening one are dropped.

    Neither text nor calls depend on how the text was cut into pieces, and the time is linear in its length.
    """

    __slots__ = ("_block", "_quoted", "_regrets", "_rest", "_visible", "calls")

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._visible = VisibleText()
        self._block: ToolCallBlock | None = None
        self._quoted = False
        self._regrets = 0
        self._rest = ""

    @property
    def undecided(self) -> int:
        """Characters that are looked at again with the next piece: never more than MOST_UNDECIDED of `tool_tags`."""
        return len(self._rest)

    def feed(self, text: str) -> str:
        """The next piece of the reply."""
        self._advance(self._rest + text, final=False)
        return self._visible.take()

    def close(self) -> str:
        """The reply is at its end."""
        self._advance(self._rest, final=True)
        while self._block is not None:
            self._advance(self._end(self._block, _UNCLOSED), final=True)
        return self._visible.close()

    def _advance(self, text: str, *, final: bool) -> None:
        position = 0
        while position < len(text):
            if self._block is None:
                stopped = self._outside(text, position, final=final)
                if stopped == position:
                    break
                position = stopped
                continue
            position, ending = self._block.advance(text, position, final=final)
            if ending is Ending.NONE:
                break
            again = self._end(self._block, _NESTED if ending is Ending.NESTED else None)
            if again:
                text, position = again + text[position:], 0
            elif ending is Ending.CLOSED and (tag := TAG.match(text, position)):
                position = tag.end()
        self._rest = text[position:]

    def _outside(self, text: str, position: int, *, final: bool) -> int:
        """Up to the next tag, with it where it is one; gives where it stopped."""
        start = text.find("<", position)
        if start < 0:
            self._visible.show(text[position:])
            return len(text)
        if start > position:
            self._visible.show(text[position:start])
        if self._visible.fenced:
            self._visible.show("<")
            return start + 1
        if not final and UNDECIDED.match(text, start):
            return start
        tag = TAG.match(text, start)
        if tag is None:
            self._visible.show("<")
            return start + 1
        self._meet(tag)
        return tag.end()

    def _meet(self, tag: re.Match[str]) -> None:
        opens, name = tag["open"] is not None, (tag["open"] or tag["close"]).lower()
        if self._quoted and name == "tool_call":
            self._visible.show(defanged(tag[0]))
            return
        self._visible.drop()
        if name == "tool_result":
            self._quoted = opens
        elif opens and (tag["attributes"] or "").endswith("/>"):
            self.calls.append(read_call(""))
        elif opens:
            fault = None if tag["attributes"] else _TORN
            self._block = ToolCallBlock(patient=self._regrets < PATIENCE, fault=fault)

    def _end(self, block: ToolCallBlock, reason: str | None) -> str:
        """The block is over, for a reason that makes it malformed or for none; gives what is to be scanned again."""
        self._block = None
        call = _call(block, block.text, reason)
        again = ""
        if block.doubtful and call.malformed is not None:
            self._regrets += 1
            text, again = block.undo()
            call = _call(block, text, None)
        self.calls.append(call)
        return again


def scan(text: str) -> tuple[str, list[ToolCall]]:
    """What may be shown of a whole reply, and the calls in it."""
    scanner = ToolCallScanner()
    return scanner.feed(text) + scanner.close(), scanner.calls


def _call(block: ToolCallBlock, text: str, reason: str | None) -> ToolCall:
    reason = block.fault or (_OVERLONG if block.overlong else reason)
    return malformed(text[:_NAMED_IN], reason) if reason else read_call(text)
