"""Redaction: replaces the secrets in a text, by value where the settings know them, else by their form."""

from sophon._python.lazy_pattern import lazy_pattern
from sophon.security.redaction.known_secrets import KNOWN_SECRETS, MARKER
from sophon.security.redaction.redaction_pieces import CUT_MARGIN, MAX_PIECE, split_pieces
from sophon.security.redaction.secret_patterns import PRIVATE_KEY
from sophon.security.redaction.secret_search import replace_secrets

_MIN_CHARACTERS = 6
"""No shorter text holds a secret that can be told from ordinary text; most texts that are checked are empty."""

_MAX_PASSES = 4
"""A replacement can uncover another secret beside it, at most once per side; more passes than that change nothing."""

_WINDOWS = 4
"""A window is this many times the limit, because redaction shortens the text."""

_LAST_WORD_BACKWARDS = lazy_pattern(r"[^\s\"'`,;:<>(){}\[\]]*")

MAX_WORD_CHARACTERS = 200
"""A longer run of characters in front of a cut is no part of a key, and is not left out."""


def redact(text: str) -> str:
    """Return the text with every secret replaced by a marker that contains REDACTED, and the rest unchanged.

    A fixed prefix or the name in front of a value stays. Idempotent; linear in the length of the text. Known by form:
    keys of providers (`sk-...`, `AIza...`, `ghp_...`, `xoxb-...`, `AKIA...` and others), JSON Web Tokens, PEM private
    keys, `Authorization` headers, passwords in URLs, secret query parameters, and assignments to passwords, keys and
    tokens; known by value: every secret of 8 characters or more that settings resolved in this process.
    """
    if len(text) < _MIN_CHARACTERS:
        return text
    if len(text) <= MAX_PIECE:
        return redact_piece(text)
    return "".join(piece if is_clean else redact_piece(piece) for piece, is_clean in split_pieces(text))


def redact_piece(text: str) -> str:
    """Return a piece of a text, as `split_pieces` cuts it, redacted."""
    for _ in range(_MAX_PASSES):
        found = KNOWN_SECRETS.replace(text)
        if (
            "-----" in found and "private key" in found.lower()
        ):  # on its own: another match, such as `password=-----BEGIN`, would take its beginning
            found = PRIVATE_KEY.sub(MARKER, found)
        found = replace_secrets(found)
        if found == text:
            break
        text = found
    return text


def redact_and_cut(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, redacted, and never a part of a secret at the cut.

    Of a longer text a window is redacted, and its end left out: a secret that the end of the window cut in two is not
    known by its half. The part of a word in front of the cut is left out too.
    """
    window = _WINDOWS * limit + CUT_MARGIN
    shown = redact(text[:window])
    if len(text) > window:
        shown = shown[:-CUT_MARGIN]
    if len(shown) <= limit and len(text) <= window:
        return shown
    return _leave_out_last_word(shown[:limit])


def cut_redacted(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text that is redacted, without the part of a word in front of the cut."""
    return text if len(text) <= limit else _leave_out_last_word(text[:limit])


def _leave_out_last_word(text: str) -> str:
    word = _LAST_WORD_BACKWARDS.match(text[-MAX_WORD_CHARACTERS - 1 :][::-1])
    length = word.end() if word is not None else 0
    return text if length > MAX_WORD_CHARACTERS else text[: len(text) - length]


def describe_error(error: BaseException) -> str:
    """Return the error's text, redacted; its type's name if it has none or cannot be converted."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        text = ""
    return redact(text) or type(error).__name__
