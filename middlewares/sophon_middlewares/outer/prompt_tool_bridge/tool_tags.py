"""Tags in replies and results: matching them, and escaping them in text that must not contain any."""

import re

from sophon._python.lazy_pattern import lazy_pattern

_BLANK = r"[ \t\r\n]"
_OPENING = rf"<{_BLANK}{{0,4}}"
_CLOSING = rf"<{_BLANK}{{0,4}}/{_BLANK}{{0,4}}"
_BORDER = r"(?![\w.:-])"
_ATTRIBUTES = r"[^<>{}]{0,199}"
_TRAILING = rf"{_BLANK}{{0,7}}"


def _prefixes_of(word: str) -> str:
    """Return a pattern for every prefix of a word, the empty one included."""
    return f"(?:{word[0]}{_prefixes_of(word[1:])})?" if word else ""


class TagSet:
    """Patterns for a set of tag names.

    `tag` matches a tag in any case, with blanks, also without its `>`, with the groups `open`, `attributes`, `close`
    and `end`; `<tool_calls>` and `<tool_call-x>` are other tags than `<tool_call>`. `partial` matches the end of a text
    that may become a tag, or whose tag may continue; it has at most `max_partial_characters`.
    """

    __slots__ = ("_like_a_tag", "max_partial_characters", "partial", "tag")

    def __init__(self, *names: str) -> None:
        name = f"(?:{'|'.join(names)})"
        prefixes = f"(?:{'|'.join(map(_prefixes_of, names))})"
        self.tag = lazy_pattern(
            rf"{_OPENING}(?P<open>{name}){_BORDER}(?P<attributes>{_ATTRIBUTES}>)?"
            rf"|{_CLOSING}(?P<close>{name}){_BORDER}(?P<end>{_TRAILING}>)?",
            re.IGNORECASE,
        )
        self.partial = lazy_pattern(
            rf"(?:{_OPENING}{prefixes}|{_CLOSING}{prefixes}"
            rf"|{_OPENING}{name}{_BORDER}{_ATTRIBUTES}|{_CLOSING}{name}{_BORDER}{_TRAILING})\Z",
            re.IGNORECASE,
        )
        self._like_a_tag = lazy_pattern(rf"<(?={_BLANK}*+(?:/{_BLANK}*+)?{name})", re.IGNORECASE)
        self.max_partial_characters = len("<") + 4 + max(map(len, names)) + 199

    def escape(self, text: str) -> str:
        """Return the text with `<` escaped as `&lt;` wherever one of the tags could be matched."""
        return self._like_a_tag.sub("&lt;", text) if "<" in text else text

    def escape_in_json(self, text: str) -> str:
        """Escape tags in JSON, where `<` occurs only in strings, so that its value does not change."""
        return self._like_a_tag.sub(r"\\u003c", text) if "<" in text else text


TOOL_CALL_TAGS = TagSet("tool_call", "tool_result")
"""Tags of the dialect of `<tool_call>` blocks."""

SKILL_TAGS = TagSet("skill", "parallel", "tool_result")
"""Tags of the dialect of `<skill>` calls."""
