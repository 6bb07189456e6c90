"""Fallback forms of a `<skill>` call: `<name(...)>`, `[skill: name(...)]`, and `name(...)` alone on a line.

Only names of offered tools begin one. Source: WASP, call parsing.
"""

import re
from collections.abc import Collection
from enum import Enum, auto
from functools import lru_cache

from sophon._python.lazy_pattern import lazy_pattern

MAX_CANDIDATE_CHARACTERS = 8_192
"""A longer text is no call in a fallback form."""

MAX_BLANKS = 16
"""Blanks before and after a call in a fallback form."""

_BEFORE = lazy_pattern(r"[ \t]{0,16}(?=[^\s<\[])|<[ \t]{0,4}|\[[ \t]{0,4}skill[ \t]{0,4}:[ \t]{0,4}", re.IGNORECASE)
_PARTIAL_BEFORE = lazy_pattern(
    r"(?:[ \t]{0,16}|<[ \t]{0,4}|\[[ \t]{0,4}(?:s(?:k(?:i(?:l(?:l[ \t]{0,4}:?[ \t]{0,4})?)?)?)?)?)\Z", re.IGNORECASE
)
_IDENTIFIER = lazy_pattern(r"[\w.:-]{0,128}")
_OPENING = lazy_pattern(r"[ \t]{0,4}\(")
_PARTIAL_OPENING = lazy_pattern(r"[ \t]{0,4}\Z")
_PIECE = lazy_pattern(r"""[^"'()\\\n\r]+|\"{3}|'{3}|\\.?|["'()\n\r]""", re.DOTALL)


_UNDECIDED = frozenset({"\\", '"', '""', "'", "''"})
"""Ends of a piece after which an escaped character or the rest of a triple quote may follow."""


class Match(Enum):
    """Whether a text begins, or has become, a call in a fallback form."""

    NO = auto()
    PARTIAL = auto()
    """More text is needed."""
    YES = auto()


@lru_cache(maxsize=16)
def prefixes_of(names: frozenset[str]) -> frozenset[str]:
    """Return all prefixes of the names."""
    return frozenset(name[:length] for name in names for length in range(len(name) + 1))


def match_opening(text: str, position: int, names: frozenset[str], *, final: bool) -> tuple[Match, int]:
    """Return whether `text` begins a call at `position`, and the position after its opening bracket.

    The caller says by the position which form is meant: at `<`, at `[`, or at the beginning of a line.
    """
    before = _BEFORE.match(text, position)
    if before is None:
        partial = not final and _PARTIAL_BEFORE.match(text, position) is not None
        return (Match.PARTIAL if partial else Match.NO), position
    name = _IDENTIFIER.match(text, before.end())
    assert name is not None
    known: Collection[str] = prefixes_of(names) if name.end() == len(text) else names
    if name[0] not in known and name[0].lower() not in known:
        return Match.NO, position
    opening = _OPENING.match(text, name.end())
    if opening is not None:
        return Match.YES, opening.end()
    return (Match.PARTIAL if not final and _PARTIAL_OPENING.match(text, name.end()) else Match.NO), position


class SkillCallCandidate:
    """A call in a fallback form, collected piece by piece until its end. Linear time, however the text is chunked.

    A line break outside a triple-quoted value ends it: then it is plain text.
    """

    __slots__ = ("_depth", "_pieces", "_quote", "_size")

    def __init__(self, opening: str) -> None:
        self._pieces = [opening]
        self._size = 0
        self._quote = ""
        self._depth = 1

    @property
    def text(self) -> str:
        """All text so far, with what begins and ends the form."""
        return "".join(self._pieces)

    @property
    def call(self) -> str:
        """The text `name(arguments)`."""
        text = self.text.strip()
        return text[text.index(":") + 1 : -1] if text[0] == "[" else text[1:-1] if text[0] == "<" else text

    def consume(self, text: str, position: int, *, final: bool) -> tuple[Match, int]:
        """Consume text; YES if the call is complete, NO if it is none; the new position is in the text.

        Text that was not consumed while the call continues must be passed again, with more after it.
        """
        while position < len(text):
            if not self._depth:
                return self._match_end(text, position, final=final)
            piece = _PIECE.match(text, position)
            assert piece is not None
            if not final and text[position:] in _UNDECIDED:
                return Match.PARTIAL, position
            self._size += len(piece[0])
            if self._size > MAX_CANDIDATE_CHARACTERS or (piece[0] in "\r\n" and len(self._quote) < 3):
                return Match.NO, position
            self._pieces.append(piece[0])
            self._track(piece[0])
            position = piece.end()
        if final and not self._depth:
            return self._match_end(text, position, final=True)
        return (Match.NO if final else Match.PARTIAL), position

    def _track(self, piece: str) -> None:
        if self._quote:
            if piece == self._quote or (len(self._quote) == 1 and piece == self._quote * 3):
                self._quote = ""
        elif piece[0] in "\"'":
            self._quote = piece
        elif piece == "(":
            self._depth += 1
        elif piece == ")":
            self._depth -= 1

    def _match_end(self, text: str, position: int, *, final: bool) -> tuple[Match, int]:
        """Match what must follow the last bracket: `>`, `]`, or the end of the line."""
        closing = {"<": ">", "[": "]"}.get(self._pieces[0].lstrip()[:1], "")
        end = position
        while end < len(text) and text[end] in " \t\r" and end - position < MAX_BLANKS:
            end += 1
        if end == len(text) and not final:
            return Match.PARTIAL, position
        if not closing:
            ends = end == len(text) or text[end] == "\n"
            return (Match.YES, end) if ends else (Match.NO, position)
        if text[end : end + 1] != closing:
            return Match.NO, position
        self._pieces.append(closing)
        return Match.YES, end + 1
