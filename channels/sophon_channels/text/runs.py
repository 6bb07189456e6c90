"""Text with looks, in runs: what a rendered message is before it is HTML, and what can be cut anywhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sophon_channels.text.cuts import Span, best_cut, reach
from sophon_channels.text.units import utf16_units


@dataclass(frozen=True, slots=True)
class Look:
    """How a stretch looks. `pre` is the language of a code block, "" without one; `link` the address of a link."""

    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    quote: bool = False
    pre: str | None = None
    link: str | None = None


PLAIN = Look()


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch that looks the same all through."""

    text: str
    look: Look = PLAIN


def plain(runs: Iterable[Run]) -> str:
    """The text alone."""
    return "".join(run.text for run in runs)


def cut(runs: Sequence[Run], limit: int, *, first: int | None = None) -> list[list[Run]]:
    """The runs in parts of at most `limit` UTF-16 units each, the first of at most `first`, none of them blank; looks
    go on in the next part.

    Code within a line and links stay whole where that is possible.
    """
    text = plain(runs)
    whole = _whole(runs)
    parts: list[list[Run]] = []
    position = _skip(text, 0)
    while position < len(text):
        end = reach(text, position, limit if first is None or any(parts) else first, utf16_units)
        if end < len(text):
            end = best_cut(text, position, end, whole)
        last = position + len(text[position:end].rstrip())
        parts.append(_between(runs, position, last))
        position = _skip(text, end)
    return [part for part in parts if part]


def _skip(text: str, position: int) -> int:
    """Past the white space of a cut, but not past the indentation of a line."""
    while text.startswith("\n", position):
        position += 1
    return position + 1 if text.startswith(" ", position) and not text.startswith("  ", position) else position


def _whole(runs: Sequence[Run]) -> list[Span]:
    spans: list[Span] = []
    position = 0
    for run in runs:
        if run.look.code or run.look.link:
            spans.append((position, position + len(run.text)))
        position += len(run.text)
    return spans


def _between(runs: Sequence[Run], begin: int, end: int) -> list[Run]:
    found: list[Run] = []
    position = 0
    for run in runs:
        if stretch := run.text[max(begin - position, 0) : max(end - position, 0)]:
            found.append(Run(stretch, run.look))
        position += len(run.text)
        if position >= end:
            break
    return found
