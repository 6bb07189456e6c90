"""The tags of the bridge's dialect: found in what a model writes, taken the sting out of in what it must not write."""

import re

NAMES = ("tool_call", "tool_result")

_BLANK = r"[ \t\r\n]"
_OPENING = rf"<{_BLANK}{{0,4}}"
_CLOSING = rf"<{_BLANK}{{0,4}}/{_BLANK}{{0,4}}"
_NAME = rf"(?:{'|'.join(NAMES)})"
_BORDER = r"(?![\w.:-])"
_ATTRIBUTES = r"[^<>{}]{0,199}"
_TRAILING = rf"{_BLANK}{{0,7}}"


def _begun(word: str) -> str:
    """A pattern for every beginning of a word, the empty one included."""
    return f"(?:{word[0]}{_begun(word[1:])})?" if word else ""


TAG = re.compile(
    rf"{_OPENING}(?P<open>{_NAME}){_BORDER}(?P<attributes>{_ATTRIBUTES}>)?"
    rf"|{_CLOSING}(?P<close>{_NAME}){_BORDER}(?P<end>{_TRAILING}>)?",
    re.IGNORECASE,
)
"""A tag in any case, with blanks, also one that lacks its `>`; `<tool_calls>` and `<tool_call-x>` are other tags."""

UNDECIDED = re.compile(
    rf"(?:{_OPENING}(?:{_begun(NAMES[0])}|{_begun(NAMES[1])})"
    rf"|{_CLOSING}(?:{_begun(NAMES[0])}|{_begun(NAMES[1])})"
    rf"|{_OPENING}{_NAME}{_BORDER}{_ATTRIBUTES}"
    rf"|{_CLOSING}{_NAME}{_BORDER}{_TRAILING})\Z",
    re.IGNORECASE,
)
"""The end of a text that may become a tag, or whose tag may go on."""

MOST_UNDECIDED = 219
"""The longest match of UNDECIDED: an opening tag with blanks and attributes that has no `>` yet."""

_LIKE_A_TAG = re.compile(rf"<(?={_BLANK}*/?{_BLANK}*{_NAME})", re.IGNORECASE)


def defanged(text: str) -> str:
    """The text with `&lt;` in front of whatever could be read as one of our tags; all else as it was."""
    return _LIKE_A_TAG.sub("&lt;", text) if "<" in text else text


def defanged_json(text: str) -> str:
    """The same for JSON, where `<` stands only in strings: its value does not change."""
    return _LIKE_A_TAG.sub(r"\\u003c", text) if "<" in text else text
