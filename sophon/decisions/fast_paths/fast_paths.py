"""Fast paths: messages that one tool call answers, without any model. Source: WASP, fast paths."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sophon._python.lazy_dataclass import dataclass
from sophon.decisions.family_patterns import is_internal
from sophon.decisions.fast_paths.families import FAMILIES, FastPathFamily

MAX_CHARACTERS: Final = 300
"""A longer message has no fast path."""


@dataclass(frozen=True, slots=True)
class FastPath:
    """The one tool call that answers a message."""

    tool: str
    arguments: Mapping[str, Any]


def fast_path(text: str, families: Sequence[FastPathFamily] = FAMILIES) -> FastPath | None:
    """Return the tool call that answers a message, or None. Texts that the program itself wrote have none."""
    found = find_family(text, families)
    return None if found is None else FastPath(found[0].tool, found[1])


def find_family(
    text: str, families: Sequence[FastPathFamily] = FAMILIES
) -> tuple[FastPathFamily, Mapping[str, Any]] | None:
    """Return the first family that a message belongs to, and the arguments of its tool; None if there is none."""
    text = " ".join(text.split())
    if not text or len(text) > MAX_CHARACTERS or is_internal(text):
        return None
    for family in families:
        arguments = family.find_arguments(text)
        if arguments is not None:
            return family, arguments
    return None
