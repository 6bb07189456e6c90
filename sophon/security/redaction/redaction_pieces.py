"""Places at which a text can be cut so that each piece is redacted on its own.

After a boundary (white space, a quote, a character from U+0E00 on) that no secret crosses, the redacted pieces are the
redacted whole, whichever of these places are used. `MAX_PIECE` characters without such a place are cut beside the
secrets in them: a secret of more characters that is not a private key is not known as one.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from sophon._python.lazy_pattern import lazy_pattern
from sophon.security.redaction.known_secrets import KNOWN_SECRETS
from sophon.security.redaction.secret_form import MAX_ESCAPE_CHARACTERS
from sophon.security.redaction.secret_patterns import BEGUN_HEADERS, PRIVATE_KEY, STOP, key_spans_pattern
from sophon.security.redaction.secret_search import find_secrets

if TYPE_CHECKING:
    from sophon.security.linear_patterns import LinearPattern


MAX_PIECE = 8192
"""Characters without a safe cut after which a text is cut anyway."""

_MIN_FORCED_PIECE = 512
"""Characters of which a piece that is cut beside a secret has more, unless it ends behind that secret."""

_NAME_CHARACTERS = 2
"""In front of `PASS` and `KEY`, which are the end of a name: `DB_PASS`."""

_FOLLOWING_CHARACTERS = 2
"""Behind a secret, of what makes it one: `@` behind a password in a URL, or `</`."""

CUT_MARGIN = 1024
"""Characters at the end of a window that are not cut off: a secret that the end of the window cuts begins in them."""

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


class Cut(NamedTuple):
    """Where a text is cut: the length of its next piece, and whether that is known to hold no secret."""

    length: int
    is_clean: bool = False


NO_CUT: Final = Cut(0)


def split_pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text, each with whether it is known to hold no secret; a short text is one piece."""
    start = 0
    while len(text) - start > MAX_PIECE and (cut := find_cut(text, start)) is not NO_CUT:
        yield text[start : start + cut.length], cut.is_clean
        start += cut.length
    yield text[start:], False


def find_cut(text: str, start: int = 0, *, floor: int = 0) -> Cut:
    """Return the next piece from `start`; `NO_CUT` if the rest is one piece, or more text must come first.

    Up to `floor` characters from `start` no place is safe (`stays_uncut`).
    """
    window = text[start : start + MAX_PIECE]
    length = _find_last_cut(window, floor)
    if length:
        return Cut(length)
    key = find_open_key(window)
    if key is not None:
        closed = PRIVATE_KEY.match(text, start + key.start())
        return Cut(closed.end() - start) if closed is not None and closed["footer"] else NO_CUT
    if len(text) - start <= MAX_PIECE:
        return NO_CUT
    end = max((match.end() for match in _find_keys(window)), default=0)
    return Cut(end) if end else _find_forced_cut(window)


def find_open_key(text: str) -> re.Match[str] | None:
    """Return the private key that begins in the text and does not end in it."""
    return next((match for match in _find_keys(text) if not match["footer"]), None)


def _find_keys(text: str) -> Iterable[re.Match[str]]:
    return PRIVATE_KEY.finditer(text) if "-----" in text and "private key" in text.lower() else ()


def stays_uncut(text: str) -> bool:
    """Return whether a text that cannot be cut now cannot be cut either when more follows."""
    return all(is_closed for _, _, is_closed in _find_unsafe_spans(text))


def measure_longest_key(text: str) -> int:
    """Return the length of the longest private key in the text, with its end or without; 0 without a key."""
    return max((match.end() - match.start() for match in _find_keys(text)), default=0)


def _find_last_cut(text: str, floor: int) -> int:
    """Return the last place beyond `floor` at which the text can be cut safely, 0 if there is none."""
    spans = _find_unsafe_spans(text)
    place = len(text)
    while place > floor:
        while spans and spans[-1][0] >= place:
            spans.pop()
        if spans and place <= spans[-1][1]:
            # The end of a private key is not safe: its marker may be within a password, as in `password=a-----BEGIN`.
            place = spans[-1][0]
            continue
        limit = max(floor, spans[-1][1]) if spans else floor
        place = find_safe_place(text, place, limit)
        if place > limit:
            return place
    return 0


def _find_unsafe_spans(text: str) -> list[tuple[int, int, bool]]:
    """Return the parts within which, and at whose end, a text must not be cut, in order and disjoint.

    The third field says that it is a private key with its end, which no later text changes.
    """
    found: Iterable[tuple[int, int, bool]] = ()
    if "-----" in text:
        if "private key" in text.lower():
            found = ((*match.span(), bool(match["footer"])) for match in key_spans_pattern().finditer(text))
        else:
            found = ((*match.span(), False) for match in BEGUN_HEADERS.finditer(text))
    known = [(begin, end, False) for begin, end in KNOWN_SECRETS.find_begun(text)]
    if not found and not known:
        return []
    merged: list[tuple[int, int, bool]] = []
    for begin, end, is_closed in sorted(chain(found, known)):
        if merged and begin < merged[-1][1]:
            before = merged.pop()
            begin, end, is_closed = before[0], max(end, before[1]), before[2] and is_closed
        merged.append((begin, end, is_closed))
    return merged


def _find_forced_cut(window: str) -> Cut:
    spans = sorted(_find_secrets(window))
    place = len(window) - CUT_MARGIN
    return Cut(_find_place_beside(window, place, spans)) if spans else Cut(place, is_clean=True)


def _find_place_beside(window: str, place: int, spans: list[tuple[int, int]]) -> int:
    for number, (begin, end) in enumerate(spans):
        # A cut within the escape in front of a secret would make it a part of a word.
        if not begin - MAX_ESCAPE_CHARACTERS < place < end + _FOLLOWING_CHARACTERS:
            continue
        before = max((each for _, each in spans[:number]), default=0)
        place = _keep_name(window, begin, before)
        if place >= _MIN_FORCED_PIECE:
            return place
        # In front of it, pieces could become so short that the time would be quadratic.
        return _find_place_behind(window, max(end, before), spans[number + 1 :])
    return place


def _keep_name(window: str, begin: int, before: int) -> int:
    """Return a place in front of a secret and of the beginning of a name that may belong to it, as in `DB_PASS=`."""
    start = begin - _NAME_CHARACTERS
    return start if window[begin - 1 : begin] in ("_", "-") and start >= before else begin


def _find_place_behind(window: str, end: int, later: list[tuple[int, int]]) -> int:
    """Return a place behind a secret and what must follow it, such as `@` in a URL, and in front of the next one."""
    following = next((begin for begin, _ in later if begin >= end), len(window))
    if following - MAX_ESCAPE_CHARACTERS < end + _FOLLOWING_CHARACTERS:
        return _keep_name(window, following, end)
    return end + _FOLLOWING_CHARACTERS


def _find_secrets(text: str) -> Iterator[tuple[int, int]]:
    yield from (match.span() for match in find_secrets(text))
    yield from KNOWN_SECRETS.find(text)


def find_safe_place(text: str, place: int, limit: int) -> int:
    """Return the last place up to `place` and beyond `limit` that is behind a boundary and no beginning of a secret.

    Without one, what is returned is `limit`, or the place before it at which a beginning across it starts.

    It is the last word of every name that an assignment, a header or an option has, with the quotes and spaces up to
    its value, or a command with its arguments. What reaches beyond a boundary also ends there, so that every place
    within is not safe either. The patterns are written backwards: a text is searched from its end, and one match goes
    to the last safe place, however many beginnings stand behind it.
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
