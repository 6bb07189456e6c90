"""Places at which a text can be cut so that each piece is redacted on its own.

After a boundary (white space, a quote, a character from U+0E00 on) that no secret crosses, the redacted pieces are the
redacted whole, whichever of these places are used. `MAX_PIECE` characters without such a place are cut beside the
secrets in them: a secret of more characters that is not a private key is not known as one.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from sophon.security.known_secrets import KNOWN_SECRETS
from sophon.security.secret_beginnings import find_safe_place
from sophon.security.secret_form import MAX_ESCAPE_CHARACTERS
from sophon.security.secret_patterns import BEGUN_HEADERS, PRIVATE_KEY, key_spans_pattern
from sophon.security.secret_search import find_secrets

MAX_PIECE = 8192
"""Characters without a safe cut after which a text is cut anyway."""

CUT_MARGIN = 1024
"""Characters at the end of a window that are not cut off: a secret that the end of the window cuts begins in them."""


def split_pieces(text: str) -> list[str]:
    """Return the pieces of a text; a short one is one piece."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > MAX_PIECE:
        cut = find_cut(text, start)
        if not cut:
            break
        pieces.append(text[start : start + cut])
        start += cut
    return [*pieces, text[start:]] if pieces else [text]


def find_cut(text: str, start: int = 0, *, floor: int = 0) -> int:
    """Return the length of the next piece from `start`; 0 if the rest is one piece, or more text must come first.

    Up to `floor` characters from `start` no place is safe (`stays_uncut`).
    """
    window = text[start : start + MAX_PIECE]
    cut = _find_last_cut(window, floor)
    if cut:
        return cut
    key = find_open_key(window)
    if key is not None:
        closed = PRIVATE_KEY.match(text, start + key.start())
        return closed.end() - start if closed is not None and closed["footer"] else 0
    return _find_forced_cut(window) if len(text) - start > MAX_PIECE else 0


def find_open_key(text: str) -> re.Match[str] | None:
    """Return the private key that begins in the text and does not end in it."""
    return (
        next((match for match in PRIVATE_KEY.finditer(text) if not match["footer"]), None)
        if "-----" in text and "private key" in text.lower()
        else None
    )


def stays_uncut(text: str) -> bool:
    """Return whether a text that cannot be cut now cannot be cut either when more follows."""
    return not _find_unsafe_spans(text)


def _find_last_cut(text: str, floor: int) -> int:
    """Return the last place beyond `floor` at which the text can be cut safely, 0 if there is none."""
    spans = _find_unsafe_spans(text)
    place = len(text)
    while place > floor:
        while spans and spans[-1][0] >= place:
            spans.pop()
        if spans and place <= spans[-1][1]:
            begin, end, is_closed = spans[-1]
            if is_closed and place == end:
                return place
            place = begin
            continue
        limit = max(floor, spans[-1][1]) if spans else floor
        place = find_safe_place(text, place, limit)
        if place > limit:
            return place
    return 0


def _find_unsafe_spans(text: str) -> list[tuple[int, int, bool]]:
    """Return the parts within which, and at whose end, a text must not be cut, in order and disjoint.

    The end of a private key, which the third field says, is safe.
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
            begin, is_closed = before[0], before[2] if before[1] >= end else is_closed
            end = max(end, before[1])
        merged.append((begin, end, is_closed))
    return merged


def _find_forced_cut(window: str) -> int:
    place = len(window) - CUT_MARGIN
    # A cut within the escape in front of a secret would make it a part of a word.
    straddling = [span for span in _find_secrets(window) if span[0] - MAX_ESCAPE_CHARACTERS < place < span[1]]
    if not straddling:
        return place
    return min(begin for begin, _ in straddling) or max(end for _, end in straddling)


def _find_secrets(text: str) -> Iterator[tuple[int, int]]:
    yield from (match.span() for match in find_secrets(text))
    yield from KNOWN_SECRETS.find(text)
