"""Beginnings of secrets that cross a boundary: a text must not be cut behind one.

It is the last word of every name that an assignment, a header or an option has, with the quotes and spaces up to its
value, or a command with its arguments. What reaches beyond a boundary also ends there, so that every place within is
not safe either. The patterns are written backwards: a text is searched from its end, and one match goes to the last
safe place, however many beginnings stand behind it.
"""

from functools import cache
from typing import TYPE_CHECKING, Final

from sophon.lazy_pattern import lazy_pattern
from sophon.security.secret_patterns import STOP

if TYPE_CHECKING:
    from sophon.security.linear_patterns import LinearPattern

_SPACE = r"[\t-\r ]"
_GAP = rf"(?:{_SPACE}|[nrt]\\)"
_ESCAPES = r"\\{0,7}"
_QUOTE = rf"(?:[\"']{_ESCAPES}|[27]200u\\{{1,7}}|;(?:touq|sopa|[49]30?#|[27]2x#)&)?"
_OPERATOR = r"(?:=:|>=|[:=]|[ad]300u\\{1,7}|;(?:16|85|[ad]3x)#&|[ad]3%)"
_FIRST_NAMES = "drowssap|dwssap|esarhpssap|ssap|dwp|terces"
_NAME = rf"(?:{_FIRST_NAMES}|yek|nekot|noitazirohtua|reraeb|cisab|tsegid|tob)"
_ASSIGNMENT = rf"(?:{_GAP}{{0,4}}{_OPERATOR})?{_GAP}{{0,4}}(?:{_QUOTE}|{_ESCAPES}){_NAME}"
_ENTRY = (
    rf"(?:{_SPACE}{{0,4}}[:=]?{_SPACE}{{0,4}}[\"']?eulav[\"']?)?{_SPACE}{{0,24}},?{_QUOTE}(?:{_FIRST_NAMES}|yek|nekot)"
)
_WORDS = rf"[\t-\r =]{{0,4}}(?:(?:yb{_SPACE}{{1,4}})?deifitnedi|(?:p-{_SPACE}{{1,4}})?ssaphss|u-|resu--)"
_COMMAND = rf"{_SPACE}{{0,4}}(?:[^\t-\r \"'`;|&]{{1,64}}{_SPACE}{{1,4}}){{0,9}}ilc-sider"

_BEGUN = rf"(?i:{_QUOTE}(?:{_WORDS}|{_ASSIGNMENT}|{_ENTRY}|{_COMMAND}))"
_BEGUN_BACKWARDS: Final = lazy_pattern(_BEGUN)
_UNSAFE_BACKWARDS: Final = lazy_pattern(rf"(?:[^{STOP}]++|{_BEGUN})*+")

_LINEAR_STOP = r"\s\x0b\x1b-\x1f\x{85}\x{a0}\x{e00}-\x{10ffff}\"'"
"""`STOP` in RE2's syntax."""
_WITHOUT_COMMAND = rf"(?:[^{_LINEAR_STOP}]|(?i:{_QUOTE}(?:{_WORDS}|{_ASSIGNMENT}|{_ENTRY})))*"
_COMMAND_NAME = "ilc-sider"

MAX_BEGUN_CHARACTERS: Final = 700
"""Maximum length of a beginning: that of a command with its arguments."""


def find_safe_place(text: str, place: int, limit: int) -> int:
    """Return the last place up to `place` and beyond `limit` that is behind a boundary and no beginning of a secret.

    Without one, what is returned is `limit`, or the place before it at which a beginning across it starts.
    """
    first = max(0, limit - MAX_BEGUN_CHARACTERS)
    backwards = text[first:place][::-1]
    size, stop = len(backwards), place - limit
    at = 0
    while at < stop:
        at = _skip_unsafe(backwards, at, stop)
        if at >= stop:
            break
        # It may begin beyond the limit, or there is no beginning here.
        begun = _BEGUN_BACKWARDS.match(backwards, at, size)
        if begun is None:
            break
        at = begun.end()
    return place - at


def _skip_unsafe(backwards: str, at: int, stop: int) -> int:
    """Return the end of the run of places from `at` on, and up to `stop`, that are not safe."""
    part = backwards[at:stop]
    if _COMMAND_NAME in part.lower():
        run = _UNSAFE_BACKWARDS.match(backwards, at, stop)
        return run.end() if run is not None else at
    # RE2 takes a hundredth of the time where beginnings follow each other; the arguments of a command, which may be
    # any words, would be too much for it.
    data = part.encode("utf-8", "replace")
    end = _unsafe_without_command().match_end(data)
    return at + (end if len(data) == len(part) else len(data[:end].decode()))


@cache
def _unsafe_without_command() -> "LinearPattern":
    # Lazy, as everywhere: most processes cut no text.
    from sophon.security.linear_patterns import compile_linear

    return compile_linear(_WITHOUT_COMMAND)
