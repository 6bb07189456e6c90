"""Where a `<tool_call>` block ends: JSON is followed closely enough to know a closing tag inside a string."""

import re
from enum import Enum, auto

from sophon_middlewares.outer.bridge.tool_tags import TAG, UNDECIDED

MOST_CHARACTERS = 262_144
"""A longer block is malformed, and what is beyond is not even kept."""

_OUTSIDE_STRING = re.compile(r'[^"<]+|["<]')
_INSIDE_STRING = re.compile(r'[^"\\<]+|["<]|\\.?', re.DOTALL)


class Ending(Enum):
    """What has become of a block."""

    NONE = auto()
    """It goes on."""
    CLOSED = auto()
    NESTED = auto()
    """An opening tag stood outside of any string: the block was never closed."""
    SPOILT = auto()
    """It is too long, and only because a closing tag was taken for a part of a string: see `undo`."""


class ToolCallBlock:
    """What stands between the tags, collected piece by piece.

    A closing tag inside a JSON string belongs to the string. Only if nothing comes of that, because a quote was
    forgotten, does the first such tag end the block after all: then the block is `doubtful`, and `undo` parts it there.
    `patient=False` takes every closing tag for the end. Time is linear in the text, whatever the chunking.
    """

    __slots__ = ("_closing", "_in_string", "_patient", "_pieces", "_size", "fault")

    def __init__(self, *, patient: bool = True, fault: str | None = None) -> None:
        self.fault = fault
        """Why this is malformed whatever it holds."""
        self._patient = patient
        self._pieces: list[str] = []
        self._size = 0
        self._in_string = False
        self._closing: int | None = None

    @property
    def text(self) -> str:
        """What stands in the block so far; of an overlong one only the beginning."""
        return "".join(self._pieces)

    @property
    def overlong(self) -> bool:
        """It has more than MOST_CHARACTERS."""
        return self._size > MOST_CHARACTERS

    @property
    def doubtful(self) -> bool:
        """A closing tag was taken for a part of a string."""
        return self._closing is not None

    def undo(self) -> tuple[str, str]:
        """The text in front of the first closing tag, and all that was taken behind that tag."""
        assert self._closing is not None
        return "".join(self._pieces[: self._closing]), "".join(self._pieces[self._closing + 1 :])

    def advance(self, text: str, position: int, *, final: bool) -> tuple[int, Ending]:
        """Take from the text; gives where it stopped: at the end of the block in front of the tag that ends it.

        What it left while the block goes on must be offered again, with more behind it.
        """
        while position < len(text):
            found = (_INSIDE_STRING if self._in_string else _OUTSIDE_STRING).match(text, position)
            assert found is not None
            taken = found[0]
            if not final and self._undecided(taken, text, position):
                break
            if taken == "<" and (tag := TAG.match(text, position)):
                ending, end = self._ending(tag)
                if ending is not Ending.NONE:
                    return position, ending
                taken = text[position:end]
            elif taken == '"':
                self._in_string = not self._in_string
            self._keep(taken)
            position += len(taken)
            if self.doubtful and self.overlong:
                return position, Ending.SPOILT
        return position, Ending.NONE

    def _undecided(self, taken: str, text: str, position: int) -> bool:
        """More text is needed: what a backslash escapes, what a beginning of a tag comes to."""
        return (taken == "\\" and self._in_string) or (taken == "<" and UNDECIDED.match(text, position) is not None)

    def _ending(self, tag: re.Match[str]) -> tuple[Ending, int]:
        """What a tag means here, and where to go on; for a mere part of the block only a closing tag is taken whole."""
        if tag["close"] and tag["end"] and tag["close"].lower() == "tool_call":
            if not self._in_string or self.overlong or not self._patient:
                return Ending.CLOSED, tag.end()
            if self._closing is None:
                self._closing = len(self._pieces)
            return Ending.NONE, tag.end()
        if tag["open"] and tag["open"].lower() == "tool_call" and not self._in_string:
            return Ending.NESTED, tag.start()
        return Ending.NONE, tag.start() + 1

    def _keep(self, taken: str) -> None:
        if not self.overlong:
            self._pieces.append(taken)
        self._size += len(taken)
