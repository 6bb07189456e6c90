"""Form of a secret: its pattern, and a simpler expression in front of it that RE2 searches for."""

from collections.abc import Iterable
from typing import NamedTuple

_ESCAPES = (
    r"\\[0nrtbfv]",
    r"\\x[0-9A-Fa-f]{2}",
    r"\\u[0-9A-Fa-f]{4}",
    r"\\[0-7]{3}",
    "%[0-9A-Fa-f]{2}",
    *(rf"[\[;]{number}m" for number in ("[0-9]", "[0-9]{2}")),
)
AFTER_ESCAPE = "|".join(f"(?<={escape})" for escape in _ESCAPES)
"""Alternatives for the place behind an escape that ends with a letter or a digit: of JSON and other literals, of a URL,
or the colour of a terminal. A word begins there."""

MAX_ESCAPE_CHARACTERS = 6
"""Maximum length of such an escape."""


MAX_CODE_CHARACTERS = 256
"""Maximum length of a name that is called or indexed, and of an index."""


MAX_ANCHOR_CHARACTERS = 256
"""Maximum length of what an anchor asks for, unless its form is long: a name, spaces, and a value up to its first
digit."""


class SecretForm(NamedTuple):
    """Form of a secret; `sophon.security.redaction.secret_search` tries its pattern only where its anchor matches."""

    heads: tuple[str, ...]
    """What a match can begin with, whatever its case: in small letters, two characters or more."""
    anchor: str
    """Expression in RE2's syntax that matches wherever the pattern does, and at few other places."""
    pattern: str
    """Expression of `re`. A group whose name begins with `kept` stays in front of the marker."""
    is_long: bool = False
    """Whether what the anchor asks for may have more than `MAX_ANCHOR_CHARACTERS`."""


INDEXED = r"\[(?!REDACTED\])"
"""A marker behind a value is what stood there, such as a private key, and no index."""


def bare_value(character: str, count: int, called: str = rf"\(|{INDEXED}") -> str:
    """Return the pattern of at least `count` characters of a bare value; one that is called or indexed is code.

    Nobody calls a name of more than 256 characters: to look for the end of one, from every beginning of a secret within
    it, would take quadratic time.
    """
    return rf"{character}{{{count},{MAX_CODE_CHARACTERS}}}+(?:{character}++|(?!{called}))"


def at_least_with_digit(count: int, other: str, character: str) -> str:
    """Return the expression of at least `count` characters with a digit; `other` is a character that is no digit."""
    return at_least_with("[0-9]", count, other, character)


def at_least_with(wanted: str, count: int, other: str, character: str) -> str:
    """Return the expression of at least `count` characters with a `wanted` one; `other` is a character that is not."""
    expression = f"{other}*{wanted}"
    for more in range(1, count):
        expression = f"(?:{wanted}{character}{{{more}}}|{other}{expression})"
    return expression


def no_word_of(words: Iterable[str], count: int, character: str) -> str:
    """Return the expression of at least `count` characters that are none of the words, whatever their case; it must be
    followed by what is no `character`, a negated class. `words` are in small letters, none is shorter than `count`.
    """
    words = tuple(words)
    firsts = sorted({word[0] for word in words if word})
    cases = "".join(first + first.upper() for first in firsts)
    other = f"(?-i:{character.replace('^', '^' + cases, 1)}){character}{{{max(0, count - 1)},}}"
    deeper = [
        f"(?-i:[{first}{first.upper()}])"
        + no_word_of([word[1:] for word in words if word.startswith(first)], max(0, count - 1), character)
        for first in firsts
    ]
    ends = [""] if not count and "" not in words else []
    return f"(?:{'|'.join([other, *deeper, *ends])})"


def no_end_of(words: Iterable[str], characters: str) -> str:
    """Return the expression of one or more of the characters that end with none of the words, whatever their case."""
    every = f"[{_escape(characters)}]"
    lasts = {word[-1] for word in words}
    alternatives = [f"{every}*[{_escape(_without(characters, lasts))}]"]
    for word in words:
        for length in range(1, len(word)):
            other = _escape(_without(characters, {word[-length - 1]}))
            alternatives.append(f"(?:{every}*[{other}])?{word[-length:]}")
    return f"(?:{'|'.join(alternatives)})"


def _without(characters: str, left_out: set[str]) -> str:
    return "".join(each for each in characters if each.lower() not in left_out)


def _escape(characters: str) -> str:
    return characters.replace("-", r"\-")
