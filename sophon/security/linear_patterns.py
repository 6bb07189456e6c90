"""Regular expressions whose time is linear in the length of the text, by Google's RE2.

Guards match texts that an attacker chooses; Python's `re` can take exponential time on them. RE2 has no look-around and
no back-references.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, Protocol


class LinearMatch(Protocol):
    """Match of a pattern."""

    def span(self, group: int = 0, /) -> tuple[int, int]:
        """Return start and end of the match in the text."""
        ...

    def group(self, group: int = 0, /) -> str:
        """Return the matched text."""
        ...


class LinearPattern(Protocol):
    """Compiled pattern."""

    @property
    def pattern(self) -> str:
        """The expression that was compiled."""
        ...

    def search(self, text: str, /) -> LinearMatch | None:
        """Return the first match in the text, or None."""
        ...

    def fullmatch(self, text: str, /) -> LinearMatch | None:
        """Return the match of the whole text, or None."""
        ...

    def finditer(self, text: str, /) -> Iterator[LinearMatch]:
        """Yield the matches that do not overlap."""
        ...

    def find_span(self, data: bytes, start: int, end: int | None = None, /) -> tuple[int, int] | None:
        """Return the place of the first match from `start` on, in bytes of a text in UTF-8 that ends at `end`."""
        ...

    def match_end(self, data: bytes, start: int = 0, /) -> int:
        """Return the end of the match that begins at `start`, in bytes of a text in UTF-8; 0 without one."""
        ...


class PatternError(ValueError):
    """An expression that RE2 cannot compile."""


_NOTHING: Final = (-1, -1)


class _Pattern:
    """Pattern of RE2 that looks at a text in which nothing matches, as nearly all are, with one call of the library.

    The functions of the binding make a generator, and convert places, before they know; that takes five times as long.
    """

    __slots__ = ("_anywhere", "_beginning", "_compiled", "_find")

    def __init__(self, compiled: Any, anchors: Any) -> None:
        self._compiled, self._find = compiled, compiled._regexp.Match
        self._anywhere, self._beginning = anchors.UNANCHORED, anchors.ANCHOR_START

    @property
    def pattern(self) -> str:
        return str(self._compiled.pattern)

    def search(self, text: str, /) -> LinearMatch | None:
        data = text.encode()
        if self._find(self._anywhere, data, 0, len(data))[0] == _NOTHING:
            return None
        found: LinearMatch = self._compiled.search(text)
        return found

    def fullmatch(self, text: str, /) -> LinearMatch | None:
        found: LinearMatch | None = self._compiled.fullmatch(text)
        return found

    def finditer(self, text: str, /) -> Iterator[LinearMatch]:
        found: Iterator[LinearMatch] = self._compiled.finditer(text)
        return found

    def find_span(self, data: bytes, start: int, end: int | None = None, /) -> tuple[int, int] | None:
        size = len(data) if end is None else end
        if start > size:
            return None
        span: tuple[int, int] = self._find(self._anywhere, data, start, size)[0]
        return None if span == _NOTHING else span

    def match_end(self, data: bytes, start: int = 0, /) -> int:
        # RE2 takes the beginning of the data for the only one.
        part = data[start:] if start else data
        span: tuple[int, int] = self._find(self._beginning, part, 0, len(part))[0]
        return start + span[1] if span != _NOTHING else 0


@lru_cache(maxsize=4096)
def compile_linear(expression: str, *, ignore_case: bool = False) -> LinearPattern:
    """Compile an expression in RE2's syntax; `.` matches every character. Raises PatternError."""
    # Lazy: a process that judges nothing needs no RE2. It has no type stubs.
    import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

    library: Any = re2
    options = library.Options()
    options.never_nl = False
    options.dot_nl = True
    options.case_sensitive = not ignore_case
    options.log_errors = False
    try:
        return _Pattern(library.compile(expression, options), library._re2.RE2.Anchor)
    except Exception as error:
        # RE2 says why in bytes.
        reason = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else error
        raise PatternError(f"{expression[:80]!r}: {reason}") from error


def make_encodable(text: str) -> str:
    """Return the text with lone surrogates replaced, which RE2 cannot read."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
