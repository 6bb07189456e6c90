"""Form of a secret: its pattern, and a simpler expression in front of it that RE2 searches for."""

from typing import NamedTuple


class SecretForm(NamedTuple):
    """Form of a secret; `sophon.security.secret_search` tries its pattern only where its anchor matches."""

    heads: tuple[str, ...]
    """The pairs of characters, in small letters, with which a match can begin."""
    anchor: str
    """Expression in RE2's syntax that matches wherever the pattern does, and at few other places."""
    pattern: str
    """Expression of `re`. A group whose name begins with `kept` stays in front of the marker."""


def at_least_with_digit(count: int, other: str, character: str) -> str:
    """Return the expression of at least `count` characters with a digit; `other` is a character that is no digit."""
    return at_least_with("[0-9]", count, other, character)


def at_least_with(wanted: str, count: int, other: str, character: str) -> str:
    """Return the expression of at least `count` characters with a `wanted` one; `other` is a character that is not."""
    expression = f"{other}*{wanted}"
    for more in range(1, count):
        expression = f"(?:{wanted}{character}{{{more}}}|{other}{expression})"
    return expression
