"""Heuristic rule, and the finding that the rules which match add up to."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass

Severity: TypeAlias = Literal["low", "medium", "high", "critical"]
Verdict: TypeAlias = Literal["allow", "escalate", "block"]
Scope: TypeAlias = Literal["text", "command", "path", "url", "raw"]
"""Where a rule looks: at every text; at shell commands and code; at paths; at URLs; or at every text as it is written,
without normalisation."""

CONFIDENCE: Final[Mapping[Severity, float]] = {"critical": 0.95, "high": 0.85, "medium": 0.7, "low": 0.5}
"""Confidence of a finding by the severity of its rule. Source: OpenParallax, Shield."""

VERDICTS: Final[Mapping[Severity, Verdict]] = {
    "critical": "block",
    "high": "escalate",
    "medium": "escalate",
    "low": "allow",
}
"""Verdict of a rule by its severity: only a shape that has no benign use blocks."""

_STRICTNESS: Final[Mapping[Verdict, int]] = {"allow": 0, "escalate": 1, "block": 2}


@dataclass(frozen=True, slots=True)
class HeuristicRule:
    """Pattern of an attack. `id` is `category.name`; the pattern is in RE2's syntax and ignores case.

    `scopes` says where it looks; with `action_types` the rule is only about these actions.
    """

    id: str
    severity: Severity
    scopes: tuple[Scope, ...]
    pattern: str
    action_types: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What the heuristics say about an action. `rules` are the ids of the rules that matched, strictest first.

    Without a match the verdict is `allow`, with a confidence of 0.5: nothing was found, which is no proof.
    """

    severity: Verdict = "allow"
    confidence: float = 0.5
    rules: tuple[str, ...] = ()


NOTHING_FOUND: Final = Finding()


def combine_matches(matches: Iterable[HeuristicRule]) -> Finding:
    """Return the finding of the rules that matched: block over escalate over allow, then the higher confidence."""
    ranked = sorted(matches, key=_rank, reverse=True)
    if not ranked:
        return NOTHING_FOUND
    first = ranked[0].severity
    return Finding(VERDICTS[first], CONFIDENCE[first], tuple(dict.fromkeys(rule.id for rule in ranked)))


def _rank(rule: HeuristicRule) -> tuple[int, float]:
    return _STRICTNESS[VERDICTS[rule.severity]], CONFIDENCE[rule.severity]
