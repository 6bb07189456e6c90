"""Regular expressions whose time is linear in the length of the text, by Google's RE2.

Guards match texts that an attacker chooses; Python's `re` can take exponential time on them. RE2 has no look-around and
no back-references.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol


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


class PatternError(ValueError):
    """An expression that RE2 cannot compile."""


@lru_cache(maxsize=4096)
def compile_linear(expression: str, *, ignore_case: bool = False) -> LinearPattern:
    """Compile an expression in RE2's syntax; `.` matches every character. Raises PatternError."""
    # Lazy: a process that judges nothing needs no RE2. It has no type stubs.
    import re2  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

    options = re2.Options()
    options.never_nl = False
    options.dot_nl = True
    options.case_sensitive = not ignore_case
    options.log_errors = False
    try:
        return re2.compile(expression, options)  # type: ignore[no-any-return]
    except Exception as error:
        raise PatternError(f"{expression[:80]!r}: {error}") from error


def make_encodable(text: str) -> str:
    """Return the text with lone surrogates replaced, which RE2 cannot read."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def find_spans(pattern: LinearPattern, text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the matches that do not overlap."""
    # In bytes the binding need not convert the places, which takes longer than the search.
    searched: Any = text.encode() if text.isascii() else make_encodable(text)
    for match in pattern.finditer(searched):
        yield match.span()
