"""Patterns of the decision layer: families, and how often those of a text match. The tables are in `tables`.

Source: reference/wasp.md 4.8. Each family has several patterns, so that the number of those that match says how clear a
case is. All of them are searched in at most `sophon.decisions.compaction.MAX_CHARACTERS`, in any case.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal, Protocol, cast, get_args

from sophon.decisions.tables import TABLES
from sophon.lazy_dataclass import dataclass
from sophon.lazy_pattern import lazy_pattern

Family = Literal["schedule", "continuous", "agent", "script", "chain", "report", "research"]
"""Family of patterns. `continuous` needs a verb and a target, the others any one of their patterns."""

FAMILY_NAMES: Final[tuple[Family, ...]] = get_args(Family)


class SearchPattern(Protocol):
    """A compiled pattern, of `re` or of RE2."""

    def search(self, text: str, /) -> Any:
        """Return the first match, or None."""
        ...

    def finditer(self, text: str, /) -> Any:
        """Yield the matches."""
        ...


@dataclass(frozen=True, slots=True)
class PatternTable:
    """Compiled patterns by family, over all languages in use.

    `targets` are what a continuous action can be about, `creates_agent` the wish for an agent.
    """

    families: Mapping[Family, Sequence[SearchPattern]]
    targets: Sequence[SearchPattern]
    creates_agent: Sequence[SearchPattern] = field(default=())


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


def build_table(
    languages: Iterable[str] = tuple(TABLES),
    added: Mapping[str, Sequence[str]] | None = None,
    disabled: Collection[str] = (),
) -> PatternTable:
    """Return the patterns of these languages without the disabled families; `added` are RE2 expressions by family.

    Raises PatternError for an added one that RE2 cannot compile.
    """
    tables = [TABLES[each] for each in languages]
    families: dict[Family, Sequence[SearchPattern]] = {}
    for family in FAMILY_NAMES:
        if family not in disabled:
            own = [_compile(each) for table in tables for each in table.PATTERNS[family]]
            families[family] = (*own, *_compile_added((added or {}).get(family, ())))
    creates = () if "agent" in disabled else tuple(_compile(table.PATTERNS["agent"][0]) for table in tables)
    targets = tuple(_compile(each) for table in tables for each in table.TARGETS)
    return PatternTable(families, (ADDRESS, *targets), creates)


def count_hits(text: str, table: PatternTable) -> dict[Family, int]:
    """Return for each family how many of its patterns occur in a text; families without any are left out."""
    counts: dict[Family, int] = {}
    for family, patterns in table.families.items():
        hits = sum(pattern.search(text) is not None for pattern in patterns)
        if family == "continuous" and hits and not any(target.search(text) for target in table.targets):
            hits = 0
        if hits:
            counts[family] = hits
    return counts


def _compile(expression: str) -> SearchPattern:
    return cast(SearchPattern, lazy_pattern(expression, re.IGNORECASE))


def _compile_added(expressions: Sequence[str]) -> Sequence[SearchPattern]:
    if not expressions:
        return ()
    from sophon.security.linear_patterns import compile_linear  # lazy: it loads RE2

    return [cast(SearchPattern, compile_linear(each, ignore_case=True)) for each in expressions]
