"""Truncation of tool results to a character limit, with a marker for the omitted part.

The marker of an array is the published one, `[...truncated, showing X/Y items]` (Sophon's orchestration guide, Tool
result truncation); for text, where nothing is published, it counts characters in the same form.
"""

import json
import unicodedata
from bisect import bisect_right

import orjson

from sophon._python.lazy_pattern import lazy_pattern

DEFAULT_LIMIT = 8000
"""Default limit in characters. Source: Sophon's guide, tool results."""

_ARRAY = lazy_pattern(r"[ \t\n\r]*\[")
_SPACE = lazy_pattern(r"[ \t\n\r]*")
_MARKER = lazy_pattern(r"\n\[\.\.\.truncated, showing \d{1,18}/(\d{1,18}) (items|characters)\]\Z")
_MAX_MARKER_CHARACTERS = 80
_DECODER = json.JSONDecoder()
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LONGEST_CLUSTER = 16
_JOINERS = "\u200d\ufe0e\ufe0f"


def truncate(text: str, limit: int = DEFAULT_LIMIT) -> str:
    """Truncate a text to at most `limit` characters, including the marker for the omitted part.

    A text that fits is returned unchanged. A JSON array keeps as many leading elements as fit, without white space
    between them. Any other text, and an array whose first element is too large, is cut at the last word boundary, or
    within a word that is longer than half of the limit. A limit too small for the marker gives the text's beginning
    only. A text that was truncated before keeps one marker, with the original total. Linear in the length of the text.
    """
    if len(text) <= limit:
        return text
    body, total, unit = _split_marker(text)
    cut = _cut_array(body, limit, total if unit == "items" else None) if unit != "characters" else None
    return cut or cut_text(body, limit, total=total if unit == "characters" else None)


def cut_text(text: str, limit: int, *, end: int | None = None, total: int | None = None) -> str:
    """Keep as many whole words of the first `end` characters as fit `limit` together with the marker.

    `total` is the number of characters that the marker names, by default those of the text.
    """
    total = len(text) if total is None else total
    available = limit - len(_marker(total, total, "characters"))
    if available <= 0:
        return text[: _find_character_boundary(text, min(max(limit, 0), len(text) if end is None else end))]
    if end is not None and end <= available:
        kept = text[:end].rstrip()
    else:
        kept = text[: _find_word_boundary(text, available)] if available < len(text) else text
    return kept + _marker(len(kept), total, "characters")


def _split_marker(text: str) -> tuple[str, int | None, str]:
    """Split off the marker of an earlier truncation; return (text, original total, unit), or (text, None, "")."""
    found = _MARKER.search(text, max(0, len(text) - _MAX_MARKER_CHARACTERS))
    return (text[: found.start()], int(found[1]), found[2]) if found else (text, None, "")


def _cut_array(text: str, limit: int, original_total: int | None) -> str | None:
    if not _ARRAY.match(text):
        return None
    try:
        total = len(orjson.loads(text))
        elements, ends = _parse_leading_elements(text, limit)
    except (ValueError, RecursionError):  # not JSON, or nested too deeply to parse
        return None
    total = max(total, original_total or 0)
    if len(elements) == total and ends[-1] + 1 <= limit:
        return f"[{','.join(elements)}]"

    def size(count: int) -> int:
        return ends[count] + 1 + len(_marker(count, total, "items"))

    count = bisect_right(range(len(ends)), limit, key=size) - 1
    return f"[{','.join(elements[:count])}]{_marker(count, total, 'items')}" if count > 0 else None


def _parse_leading_elements(text: str, limit: int) -> tuple[list[str], list[int]]:
    """Return leading elements as compact JSON until they exceed `limit`; `ends[n]`: length of "[" and n elements."""
    elements: list[str] = []
    ends = [1]
    at = _skip_space(text, text.index("[") + 1)
    while text[at] != "]" and ends[-1] <= limit:
        value, at = _DECODER.raw_decode(text, at)
        elements.append(_ENCODER.encode(value))
        ends.append(ends[-1] + len(elements[-1]) + (len(elements) > 1))
        at = _skip_space(text, at)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return elements, ends


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _marker(shown: int, total: int, unit: str) -> str:
    return f"\n[...truncated, showing {shown}/{total} {unit}]"


def _find_word_boundary(text: str, limit: int) -> int:
    """Return the cut position: after the last whole word of the first `limit` characters, if in their second half."""
    at = limit
    while at > limit // 2 and not text[at].isspace():
        at -= 1
    if not text[at].isspace():
        return _find_character_boundary(text, limit)
    return len(text[:at].rstrip())


def _find_character_boundary(text: str, at: int) -> int:
    """Return the nearest cut at or before `at` that splits no combining sequence, joined emoji or surrogate pair."""
    for cut in range(at, max(at - _LONGEST_CLUSTER, 0), -1):
        after, before = text[cut : cut + 1], text[cut - 1]
        joined = bool(after) and (unicodedata.combining(after) or after in _JOINERS)
        if not joined and before != _JOINERS[0] and not "\ud800" <= before <= "\udbff":
            return cut
    return at
