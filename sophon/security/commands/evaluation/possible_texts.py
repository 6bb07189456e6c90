"""Possible texts: every text that a variable, a file or an output may be, as far as that is known."""

from collections.abc import Iterable, Sequence
from itertools import islice, product
from typing import Final

Texts = tuple[str, ...] | None
"""The texts that something may be, or None if it may be any text."""

MAX_ALTERNATIVES: Final = 64
"""Different texts of one word or output that are looked at."""

FILE: Final[Texts] = ()
"""What is in a file that the command names, and has not written itself."""

NOTHING: Final[Texts] = ("",)


class UnresolvedText(str):
    """A script in which the shell that passes it on computes something that is not known; it stays as it is written."""


def is_unresolved(texts: Texts) -> bool:
    """Return whether a text holds parts that are not known."""
    return any(isinstance(each, UnresolvedText) for each in texts or ())


def concatenate(outputs: Sequence[Texts]) -> Texts:
    """Return what several outputs are together, one behind the other."""
    if len(outputs) == 1:
        return outputs[0]
    if any(each is None or is_unresolved(each) for each in outputs):
        return None
    if any(each == FILE for each in outputs):
        return FILE if all(each in (FILE, NOTHING) for each in outputs) else None
    found = ["".join(each) for each in islice(product(*(each or () for each in outputs)), MAX_ALTERNATIVES + 1)]
    return tuple(dict.fromkeys(found)) if len(found) <= MAX_ALTERNATIVES else None


def unite(all_texts: Iterable[Texts]) -> Texts:
    """Return what one of several may be."""
    found: dict[str, None] = {}
    is_file = False
    for texts in all_texts:
        if texts is None:
            return None
        is_file = is_file or texts == FILE
        found.update(dict.fromkeys(texts))
    return None if is_file and found else tuple(found)
