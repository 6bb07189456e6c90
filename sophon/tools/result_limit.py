"""Limit of a finished tool result in characters: the last step, which leaves every fence around untrusted text closed.

It measures the text as the model reads it, because escapes, fences and notes make a result longer.
"""

import re

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.tools.truncation import cut_text, truncate
from sophon.tools.untrusted_text import FENCE_ELEMENT, fence_text, unfence_text

_TAG = lazy_pattern(
    rf'<{FENCE_ELEMENT}-(?P<opened>[0-9a-f]{{16}}) source="(?P<source>[^"<>\n]*)">\n'
    rf"|\n</{FENCE_ELEMENT}-(?P<closed>[0-9a-f]{{16}})>"
)


@dataclass(frozen=True, slots=True)
class _Fence:
    """A fence in a text, from the first character of its opening tag to `end`, behind its closing tag."""

    start: int
    end: int
    source: str
    nonce: str
    content: str


def limit_result(text: str, limit: int) -> str:
    """Return a result of at most `limit` characters, as `truncate` cuts it.

    A fence in which the cut falls keeps the beginning of its content and is closed; one for which there is no room is
    left out whole. Linear in the length of the text.
    """
    if len(text) <= limit:
        return text
    cut = truncate(text, limit)
    kept = next((at for at, (old, new) in enumerate(zip(text, cut, strict=False)) if old != new), len(cut))
    for fence in _find_fences(text):
        if fence.start < kept < fence.end:
            shortened = fence_within(fence.content, fence.source, fence.nonce, limit - fence.start)
            if shortened is not None:
                return text[: fence.start] + shortened
            return cut_text(text, limit, end=fence.start)
    return cut


def append_note(text: str, note: str, limit: int) -> str:
    """Return a result followed by a note, together at most `limit` characters: the result is cut, not the note, which
    gets half of the limit at most.
    """
    note = note[: limit // 2]
    return limit_result(text, limit - len(note)) + note


def fence_within(text: str, source: str, nonce: str, limit: int) -> str | None:
    """Fence as much of an untrusted text as fits `limit` with its escapes and tags; None if nothing does."""
    size = limit
    while size > 0:
        fenced = fence_text(truncate(text, size), source, nonce)
        excess = len(fenced) - limit
        if excess <= 0:
            return fenced
        size -= excess
    return None


def _find_fences(text: str) -> list[_Fence]:
    """Return the fences in order; one that is not closed ends with the text. Nothing inside a fence opens another."""
    found: list[_Fence] = []
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if opened is None and tag["opened"]:
            opened = tag
        elif opened is not None and tag["closed"] == opened["opened"]:
            found.append(_to_fence(text, opened, tag.end(), ""))
            opened = None
    if opened is not None:
        found.append(_to_fence(text, opened, len(text), f"\n</{FENCE_ELEMENT}-{opened['opened']}>"))
    return found


def _to_fence(text: str, opened: re.Match[str], end: int, closing: str) -> _Fence:
    whole = text[opened.start() : end] + closing
    return _Fence(opened.start(), end, opened["source"], opened["opened"], unfence_text(whole))
