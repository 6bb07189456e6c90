"""Redaction of a text that arrives in chunks."""

from sophon.security.redaction.redaction_pieces import (
    MAX_PIECE,
    NO_CUT,
    find_cut,
    find_open_key,
    measure_longest_key,
    stays_uncut,
)
from sophon.security.redaction.secret_patterns import BOUNDARY, KEY_FOOTER, MAX_FOOTER_CHARACTERS
from sophon.security.redaction.text_redaction import redact_piece

SEARCHED_ALWAYS = 1024
"""A longer text that is held is searched again only when it has grown by half; a private key in it does not count."""


class StreamRedactor:
    """Redacts a text that arrives in chunks: what `feed` and `flush` return, joined, is `redact` of the whole text.

    Held back is the last word, what the beginning of a secret that crosses a space may still become, and at most
    `MAX_PIECE` characters without a space. A private key is held until the first space behind its end.
    """

    __slots__ = ("_floor", "_footer", "_held", "_key", "_next_search")

    def __init__(self) -> None:
        self._held = ""
        self._floor = 0
        """Up to this length no later text makes a place in `_held` safe; it is not searched again."""
        self._next_search = 0
        """Length of `_held` from which it is searched again. Otherwise a text that cannot be cut, of beginnings of keys
        alone, would be searched with every chunk."""
        self._key: list[str] = []
        """The chunks since a private key began that has not ended; then `_held` is empty."""
        self._footer = ""
        """The end of these chunks, in which the key's footer may have begun."""

    def feed(self, text: str) -> str:
        """Return the redacted text that no later chunk can change."""
        if self._key:
            self._key.append(text)
            footer = self._footer + text
            if KEY_FOOTER.search(footer) is None:
                self._footer = footer[-MAX_FOOTER_CHARACTERS:]
                return ""
            self._held = "".join(self._key)
            self._key.clear()
        else:
            self._held += text
            # Without a boundary there is no new place to cut, and without a hyphen no private key begins.
            if len(self._held) <= MAX_PIECE and "-" not in text and BOUNDARY.search(text) is None:
                return ""
        if len(self._held) < self._next_search:
            return ""
        return self._release()

    def flush(self) -> str:
        """Return the rest, redacted; for the end of the text."""
        held = "".join(self._key) or self._held
        self._held, self._footer, self._floor, self._next_search = "", "", 0, 0
        self._key.clear()
        return redact_piece(held)

    def _release(self) -> str:
        held, start = self._held, 0
        released: list[str] = []
        while (cut := find_cut(held, start, floor=self._floor)) is not NO_CUT:
            piece = held[start : start + cut.length]
            released.append(piece if cut.is_clean else redact_piece(piece))
            start += cut.length
            self._floor = 0
            if len(held) - start + cut.length <= MAX_PIECE:  # the last safe place of all that is held
                break
        self._held = held[start:]
        length = len(self._held)
        growth = (length - measure_longest_key(self._held)) // 2 + 1 if length > SEARCHED_ALWAYS else 0
        self._next_search = min(length + growth, MAX_PIECE) if growth else 0
        self._floor = length if stays_uncut(self._held) else 0
        self._watch_for_footer()
        return "".join(released)

    def _watch_for_footer(self) -> None:
        key = find_open_key(self._held)
        if key is not None:
            self._key.append(self._held)
            self._footer = self._held[key.end("header") :][-MAX_FOOTER_CHARACTERS:]
            self._held = ""
