"""Patterns of the decision layer: families, and how often those of a text match. They are in `grammars`.

Source: WASP, Decision Layer. Each family has several patterns, so that the number of those that match says how clear a
case is. All of them are searched in at most `sophon.decisions.message_shortening.MAX_CHARACTERS`, in any case.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol, get_args

from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.grammars import GRAMMARS
from sophon.decisions.message_grammar import Grammar
from sophon.decisions.message_patterns import Phrase, PhraseSection

Family = Literal["schedule", "continuous", "agent", "script", "chain", "report", "research"]
"""Family of patterns. `continuous` needs a verb and a target, the others any one of their patterns."""

FAMILY_NAMES: Final[tuple[Family, ...]] = get_args(Family)


class SearchPattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str, /) -> Any:
        """Return the first match, or None."""
        ...

    def finditer(self, text: str, /) -> Any:
        """Yield the matches."""
        ...


ADDRESS: Final = lazy_pattern(
    r"https?://\S+|\b(?:www\.)?[a-z0-9-]{1,63}\.(?:com|org|net|io|dev|es|de|co|ai|gov|edu)\b", re.IGNORECASE
)
"""An address, which a continuous action can be about in any language."""

QUESTION: Final = lazy_pattern(r"^\s*¿|\?\s*$|^\s*(?:what|when|how|qué|cuándo|cómo)\b.*\?", re.IGNORECASE | re.DOTALL)
CONFIRMATION: Final = lazy_pattern(
    r"\s*(?:(?:yes|yep|yeah|ok|okay|sure|no|sí|si|vale|claro|please|go ahead|do it|try again|retry|again|once more"
    r"|inténtalo de nuevo|otra vez|adelante|hazlo|de acuerdo)[\s,.!]*){1,4}\Z",
    re.IGNORECASE,
)
"""A confirmation, or the wish to try again: it belongs to what was said before."""

INTERNAL_PREFIXES: Final = ("[SCHEDULED TASK:", "[TAREA PROGRAMADA:", "[AUTO-DETECTED:")
"""How texts begin that the program itself wrote; no rule acts on them again."""


GOAL_REPORT: Final = "[AUTO-DETECTED: goal"
"""How the message begins that asks for the report of a goal."""


def _read_phrases(grammar: Grammar, section: str) -> Sequence[Phrase]:
    return PhraseSection(grammar.sections[section], grammar).phrases


_LANGUAGES: Final = tuple(GRAMMARS.values())

FAMILIES: Final[Mapping[Family, Sequence[SearchPattern]]] = {
    family: [phrase for each in _LANGUAGES for phrase in _read_phrases(each, family)] for family in FAMILY_NAMES
}
"""The patterns of each family, in all languages."""

TARGETS: Final[Sequence[SearchPattern]] = tuple(
    phrase for each in _LANGUAGES for phrase in _read_phrases(each, "targets")
)
"""What a continuous action can be about, beside an ADDRESS."""

CREATES_AGENT: Final[Sequence[SearchPattern]] = tuple(_read_phrases(each, "agent")[0] for each in _LANGUAGES)
"""The wish for an agent."""

RECURRENCES: Final = tuple(phrase for each in _LANGUAGES for phrase in _read_phrases(each, "recurrence"))
"""How often something is to be done, in any language, whatever is asked for."""


def count_hits(text: str) -> dict[Family, int]:
    """Return for each family how many of its patterns occur in a text; families without any are left out."""
    counts: dict[Family, int] = {}
    for family, patterns in FAMILIES.items():
        hits = sum(pattern.search(text) is not None for pattern in patterns)
        if family == "continuous" and hits and not any(target.search(text) for target in (ADDRESS, *TARGETS)):
            hits = 0
        if hits:
            counts[family] = hits
    return counts


def is_internal(text: str) -> bool:
    """Return whether the program itself wrote a text; no rule acts on it."""
    return text.lstrip().startswith(INTERNAL_PREFIXES)
