"""Search for keys in a text: the secrets of `sophon.security.redact` that can be told from examples and from names.

Redaction replaces more than this, because a needless marker costs little. A label keeps a session from sending, so it
takes a key of a provider, a private key, or a value with the randomness of a key behind the name of one.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from sophon.security.redaction.known_secrets import KNOWN_SECRETS
from sophon.security.redaction.redaction_pieces import MAX_PIECE, split_pieces
from sophon.security.redaction.secret_search import find_secrets

_KEY_HEADER: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----", re.IGNORECASE | re.ASCII)
_MAX_HEADER_LINES: Final = 1000
"""Characters behind the header of a private key in which its first lines stand, with those that say how to read it."""
_LINE_END: Final = re.compile(r"\\[nr]|\s|[\"'+,]")
_KEY_BODY: Final = re.compile(r"[A-Za-z0-9+/=]{60}", re.ASCII)

_EXAMPLE: Final = re.compile(
    r"example|sample|placeholder|change[-_]?me|your|dummy|fake|redacted|foobar|x{4}|0{6}|\.{3}|\*{3}|"
    r"(?:012|123)45|abcdef|deadbeef|MjM0NTY3ODk",  # the last: "23456789", in the example of a JSON Web Token
    re.IGNORECASE,
)
_PUBLISHED: Final = ("pk_live_", "pk_test_")
"""Beginnings of keys that are made to be published."""

_WEAK_KINDS: Final = frozenset({"kept_query", "kept_key", "kept_plain", "kept_said"})
"""Forms, by the groups of `secret_patterns`, that links and cache keys have as well."""

_MIN_CHARACTERS: Final = 16
_MIN_ENTROPY: Final = 3.0
"""Bits per character. 16 random hexadecimal digits have about 3.3, 20 random letters and digits 4.0."""
_MIN_DIGIT_RUNS: Final = 2
_VALUE: Final = re.compile(r"[A-Za-z0-9_+/=.~:!@#$%^&*-]+", re.ASCII)
_DIGITS: Final = re.compile(r"\d+", re.ASCII)
_QUOTES: Final = "\"'`"


def holds_key(text: str) -> bool:
    """Return whether a text holds a key: no example, no placeholder, no password of words. Linear in its length."""
    if len(text) < _MIN_CHARACTERS:
        return False
    if next(KNOWN_SECRETS.find(text), None) is not None or _holds_private_key(text):
        return True
    return any(_is_key(match) for piece in _split(text) for match in find_secrets(piece))


def _split(text: str) -> Iterator[str]:
    if len(text) <= MAX_PIECE:
        yield text
        return
    yield from (piece for piece, is_clean in split_pieces(text) if not is_clean)


def _holds_private_key(text: str) -> bool:
    if "PRIVATE KEY" not in text.upper():
        return False
    for header in _KEY_HEADER.finditer(text):
        body = _LINE_END.sub("", text[header.end() : header.end() + _MAX_HEADER_LINES])
        found = _KEY_BODY.search(body.partition("-----")[0])
        if found is not None and is_random(found[0]):
            return True
    return False


def _is_key(match: re.Match[str]) -> bool:
    kind = match.lastgroup
    if kind is None:  # of a family of keys, whose prefix says what it is
        return (
            not match[0].startswith(_PUBLISHED) and not _EXAMPLE.search(match[0]) and _entropy(match[0]) > _MIN_ENTROPY
        )
    if kind in _WEAK_KINDS:
        return False
    return is_random(match[0].removeprefix(match[kind]).strip(_QUOTES))


def is_random(value: str) -> bool:
    """Return whether a value has the randomness of a key: letters and digits in turn, and no word of an example."""
    if len(value) < _MIN_CHARACTERS or not _VALUE.fullmatch(value) or _EXAMPLE.search(value):
        return False
    if len(_DIGITS.findall(value)) < _MIN_DIGIT_RUNS or value.isdigit():
        return False
    return _entropy(value) > _MIN_ENTROPY and not _is_of_words(value)


_WORDS: Final = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}(?![a-z])", re.ASCII)


def _is_of_words(value: str) -> bool:
    """Return whether most of a value are runs of small or of capital letters, as in a name; a random one has few."""
    runs = sum(len(each) for each in _WORDS.findall(value))
    return runs > len(value) * 0.6


def _entropy(text: str) -> float:
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
