"""Cuts what a tool answered to what a model should read, and says what is missing."""

import json
import re
import unicodedata
from bisect import bisect_right

import orjson

LIMIT = 8000
"""Characters of a tool's result that reach the model. Source: reference/sophon.md 5.23."""

_ARRAY = re.compile(r"[ \t\n\r]*\[")
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LONGEST_CLUSTER = 16
_JOINERS = "\u200d\ufe0e\ufe0f"


def truncate(text: str, limit: int = LIMIT) -> str:
    """At most `limit` characters of a text, the marker that tells what was left out among them.

    A text that fits comes back untouched. A JSON array keeps the most leading elements that fit, without the white
    space between them, and then tells "X of Y items". Everything else, and an array whose first element is too large,
    is cut at the last word boundary, or within the word where that word is longer than half of what fits. A limit too
    small for a marker gives the bare beginning. Linear in the length of the text.
    """
    if len(text) <= limit:
        return text
    return _cut_array(text, limit) or _cut_text(text, limit)


def _cut_array(text: str, limit: int) -> str | None:
    if not _ARRAY.match(text):
        return None
    try:
        total = len(orjson.loads(text))
        elements, ends = _leading(text, limit)
    except (ValueError, RecursionError):  # no JSON, or nested too deeply to be read
        return None
    if len(elements) == total and ends[-1] + 1 <= limit:
        return f"[{','.join(elements)}]"

    def size(count: int) -> int:
        return ends[count] + 1 + len(_items_marker(count, total))

    count = bisect_right(range(len(ends)), limit, key=size) - 1
    return f"[{','.join(elements[:count])}]{_items_marker(count, total)}" if count > 0 else None


def _leading(text: str, limit: int) -> tuple[list[str], list[int]]:
    """The first elements, compact, until they are more than fit; `ends[n]` is the length of "[" and n of them."""
    elements: list[str] = []
    ends = [1]
    at = _past_space(text, text.index("[") + 1)
    while text[at] != "]" and ends[-1] <= limit:
        value, at = _DECODER.raw_decode(text, at)
        elements.append(_ENCODER.encode(value))
        ends.append(ends[-1] + len(elements[-1]) + (len(elements) > 1))
        at = _past_space(text, at)
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return elements, ends


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _items_marker(shown: int, total: int) -> str:
    return f"\n[truncated: {shown} of {total} items]"


def _cut_text(text: str, limit: int) -> str:
    room = limit - len(_text_marker(len(text)))
    if room <= 0:
        return text[: _whole(text, max(limit, 0))]
    kept = text[: _boundary(text, room)]
    return kept + _text_marker(len(text) - len(kept))


def _text_marker(left_out: int) -> str:
    return f"\n[truncated: {left_out} characters left out]"


def _boundary(text: str, room: int) -> int:
    """Where to cut: behind the last whole word of the first `room` characters, if it ends in their second half."""
    at = room
    while at > room // 2 and not text[at].isspace():
        at -= 1
    if not text[at].isspace():
        return _whole(text, room)
    return len(text[:at].rstrip())


def _whole(text: str, at: int) -> int:
    """The nearest cut at or before `at` that parts no accent from its letter, no joined emoji, no surrogate pair."""
    for cut in range(at, max(at - _LONGEST_CLUSTER, 0), -1):
        after, before = text[cut : cut + 1], text[cut - 1]
        joined = bool(after) and (unicodedata.combining(after) or after in _JOINERS)
        if not joined and before != _JOINERS[0] and not "\ud800" <= before <= "\udbff":
            return cut
    return at
