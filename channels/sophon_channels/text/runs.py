"""Styled text as a sequence of runs, between markdown and a platform's markup; it can be split anywhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sophon_channels.text.cuts import Span, best_cut, reach
from sophon_channels.text.units import utf16_units


@dataclass(frozen=True, slots=True)
class Look:
    """Style of a run. `pre` is the language of a code block ("" if unknown), None outside one; `link` is the URL of a
    link.
    """

    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    quote: bool = False
    pre: str | None = None
    link: str | None = None


PLAIN = Look()
"""The style of unformatted text."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text in one style."""

    text: str
    look: Look = PLAIN


def plain(runs: Iterable[Run]) -> str:
    """Return the text without styles."""
    return "".join(run.text for run in runs)


def cut(runs: Sequence[Run], limit: int, *, first: int | None = None) -> list[list[Run]]:
    """Split the runs into parts of at most `limit` UTF-16 units each, the first of at most `first`; no part is blank,
    and styles continue in the next part.

    Inline code and links are kept intact where possible. Pure.
    """
    text = plain(runs)
    atomic_spans = _atomic_spans(runs)
    parts: list[list[Run]] = []
    position = _skip_white_space(text, 0)
    while position < len(text):
        end = reach(text, position, limit if first is None or any(parts) else first, utf16_units)
        if end < len(text):
            end = best_cut(text, position, end, atomic_spans)
        last = position + len(text[position:end].rstrip())
        parts.append(_slice_runs(runs, position, last))
        position = _skip_white_space(text, end)
    return [part for part in parts if part]


def _skip_white_space(text: str, position: int) -> int:
    """Return the position after the white space of a cut, but before the indentation of a line."""
    while text.startswith("\n", position):
        position += 1
    return position + 1 if text.startswith(" ", position) and not text.startswith("  ", position) else position


def _atomic_spans(runs: Sequence[Run]) -> list[Span]:
    spans: list[Span] = []
    position = 0
    for run in runs:
        if run.look.code or run.look.link:
            spans.append((position, position + len(run.text)))
        position += len(run.text)
    return spans


def _slice_runs(runs: Sequence[Run], begin: int, end: int) -> list[Run]:
    sliced: list[Run] = []
    position = 0
    for run in runs:
        if text := run.text[max(begin - position, 0) : max(end - position, 0)]:
            sliced.append(Run(text, run.look))
        position += len(run.text)
        if position >= end:
            break
    return sliced
