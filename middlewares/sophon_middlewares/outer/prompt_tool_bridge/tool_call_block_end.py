"""Find the end of a `<tool_call>` block; a closing tag inside a JSON string does not end it."""

import re
from enum import Enum, auto

from sophon._python.lazy_pattern import lazy_pattern
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import TOOL_CALL_TAGS

MAX_BLOCK_CHARACTERS = 262_144
"""A longer block is malformed, and the excess is not stored."""

_OUTSIDE_STRING = lazy_pattern(r'[^"<]+|["<]')
_INSIDE_STRING = lazy_pattern(r'[^"\\<]+|["<]|\\.?', re.DOTALL)


class BlockEnd(Enum):
    """State of a block after a piece of text."""

    NONE = auto()
    """The block continues."""
    CLOSED = auto()
    NESTED = auto()
    """An opening tag outside any string: the block was never closed."""
    OVERLONG_STRING = auto()
    """It is too long, but only because a closing tag was taken for a part of a string: see `split_at_closing_tag`."""


class ToolCallBuffer:
    """The text between the tags, collected piece by piece.

    A closing tag inside a JSON string belongs to the string. If the block cannot be parsed that way, because a quote is
    missing, the first such tag ends the block: then the block is `has_tag_in_string`, and `split_at_closing_tag` splits
    it there. With `allow_tags_in_strings=False` every closing tag ends the block. Linear time in the text, however it
    is chunked.
    """

    __slots__ = ("_allow_tags_in_strings", "_closing", "_in_string", "_pieces", "_size", "error")

    def __init__(self, *, allow_tags_in_strings: bool = True, error: str | None = None) -> None:
        self.error = error
        """Why the block is malformed regardless of its text."""
        self._allow_tags_in_strings = allow_tags_in_strings
        self._pieces: list[str] = []
        self._size = 0
        self._in_string = False
        self._closing: int | None = None

    @property
    def text(self) -> str:
        """The text of the block so far; only the beginning of an overlong one."""
        return "".join(self._pieces)

    @property
    def is_overlong(self) -> bool:
        """Whether it has more than MAX_BLOCK_CHARACTERS."""
        return self._size > MAX_BLOCK_CHARACTERS

    @property
    def has_tag_in_string(self) -> bool:
        """Whether a closing tag was taken for a part of a string."""
        return self._closing is not None

    def split_at_closing_tag(self) -> tuple[str, str]:
        """Return the text before the first closing tag, and all text after that tag."""
        assert self._closing is not None
        return "".join(self._pieces[: self._closing]), "".join(self._pieces[self._closing + 1 :])

    def consume(self, text: str, position: int, *, final: bool) -> tuple[int, BlockEnd]:
        """Consume text from `position`; return the new position: the end of the text, or the tag that ends the block.

        Text that was not consumed while the block continues must be passed again, with more after it.
        """
        while position < len(text):
            found = (_INSIDE_STRING if self._in_string else _OUTSIDE_STRING).match(text, position)
            assert found is not None
            lexeme = found[0]
            if not final and self._needs_more(lexeme, text, position):
                break
            if lexeme == "<" and (tag := TOOL_CALL_TAGS.tag.match(text, position)):
                ending, end = self._classify_tag(tag)
                if ending is not BlockEnd.NONE:
                    return position, ending
                lexeme = text[position:end]
            elif lexeme == '"':
                self._in_string = not self._in_string
            self._append(lexeme)
            position += len(lexeme)
            if self.has_tag_in_string and self.is_overlong:
                return position, BlockEnd.OVERLONG_STRING
        return position, BlockEnd.NONE

    def _needs_more(self, lexeme: str, text: str, position: int) -> bool:
        """Return whether more text is needed: for an escape after a backslash, or for a partial tag."""
        return (lexeme == "\\" and self._in_string) or (
            lexeme == "<" and TOOL_CALL_TAGS.partial.match(text, position) is not None
        )

    def _classify_tag(self, tag: re.Match[str]) -> tuple[BlockEnd, int]:
        """Return the meaning of a tag here, and where to continue; inside the block only a closing tag is consumed
        whole.
        """
        if tag["close"] and tag["end"] and tag["close"].lower() == "tool_call":
            if not self._in_string or self.is_overlong or not self._allow_tags_in_strings:
                return BlockEnd.CLOSED, tag.end()
            if self._closing is None:
                self._closing = len(self._pieces)
            return BlockEnd.NONE, tag.end()
        if tag["open"] and tag["open"].lower() == "tool_call" and not self._in_string:
            return BlockEnd.NESTED, tag.start()
        return BlockEnd.NONE, tag.start() + 1

    def _append(self, lexeme: str) -> None:
        if not self.is_overlong:
            self._pieces.append(lexeme)
        self._size += len(lexeme)
