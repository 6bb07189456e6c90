"""The tags `<tool_call>` and `<tool_result>`: matching them in replies, escaping them in text that must not contain
any.
"""

import re

from sophon.lazy_pattern import lazy_pattern

TAG_NAMES = ("tool_call", "tool_result")

_BLANK = r"[ \t\r\n]"
_OPENING = rf"<{_BLANK}{{0,4}}"
_CLOSING = rf"<{_BLANK}{{0,4}}/{_BLANK}{{0,4}}"
_NAME = rf"(?:{'|'.join(TAG_NAMES)})"
_BORDER = r"(?![\w.:-])"
_ATTRIBUTES = r"[^<>{}]{0,199}"
_TRAILING = rf"{_BLANK}{{0,7}}"


def _prefixes_of(word: str) -> str:
    """Return a pattern for every prefix of a word, the empty one included."""
    return f"(?:{word[0]}{_prefixes_of(word[1:])})?" if word else ""


TAG = lazy_pattern(
    rf"{_OPENING}(?P<open>{_NAME}){_BORDER}(?P<attributes>{_ATTRIBUTES}>)?"
    rf"|{_CLOSING}(?P<close>{_NAME}){_BORDER}(?P<end>{_TRAILING}>)?",
    re.IGNORECASE,
)
"""A tag in any case, with blanks, also without its `>`; `<tool_calls>` and `<tool_call-x>` are other tags."""

PARTIAL_TAG = lazy_pattern(
    rf"(?:{_OPENING}(?:{_prefixes_of(TAG_NAMES[0])}|{_prefixes_of(TAG_NAMES[1])})"
    rf"|{_CLOSING}(?:{_prefixes_of(TAG_NAMES[0])}|{_prefixes_of(TAG_NAMES[1])})"
    rf"|{_OPENING}{_NAME}{_BORDER}{_ATTRIBUTES}"
    rf"|{_CLOSING}{_NAME}{_BORDER}{_TRAILING})\Z",
    re.IGNORECASE,
)
"""The end of a text that may become a tag, or whose tag may continue."""

MAX_PARTIAL_TAG_CHARACTERS = 219
"""Longest match of UNDECIDED: an opening tag with blanks and attributes and without `>`."""

_LIKE_A_TAG = lazy_pattern(rf"<(?={_BLANK}*/?{_BLANK}*{_NAME})", re.IGNORECASE)


def escape_tags(text: str) -> str:
    """Return the text with `<` escaped as `&lt;` wherever one of our tags could be matched."""
    return _LIKE_A_TAG.sub("&lt;", text) if "<" in text else text


def escape_tags_in_json(text: str) -> str:
    """Escape tags in JSON, where `<` occurs only in strings, so that its value does not change."""
    return _LIKE_A_TAG.sub(r"\\u003c", text) if "<" in text else text
