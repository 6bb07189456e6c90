"""Which kind of work a message asks for: five strategies, by patterns alone. Source: reference/wasp.md 4.8."""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal

from sophon.decisions.compaction import compact_for_routing
from sophon.decisions.internal_texts import is_internal
from sophon.decisions.intervals import find_interval
from sophon.decisions.patterns import CONFIRMATION, QUESTION, Family, count_hits
from sophon.decisions.rules import DEFAULT_RULES, DecisionRules
from sophon.lazy_dataclass import dataclass
from sophon.lazy_pattern import lazy_pattern

Strategy = Literal["direct", "goal", "scheduled_task", "sub_agent", "script"]

MIN_CHARACTERS: Final = 7
"""A shorter message is direct."""

MAX_TITLE, MAX_DESCRIPTION = 50, 200

_POLITE = lazy_pattern(
    r"^\s*(?:please|can you|could you|i want you to|i'd like you to|por favor|puedes|quiero que)\s+", re.IGNORECASE
)
_NAME_OF_AGENT = lazy_pattern(
    r"\b(?:called|named|llamado|llamada)\s+[\"“']?([\w -]{1,50}?)[\"”']?(?=$|[,.;]|\s+(?:that"
    r"|which|to|who|que|para)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Decided:
    """Strategy of a message, how many patterns of each family matched (none for `direct`), and what they yield.

    Parameters of `scheduled_task`: `title` (at most 50 characters) and `interval`; of `sub_agent`: `name` (at most 50),
    `description` (at most 200) and `autonomy`; none of the others.
    """

    strategy: Strategy = "direct"
    hits: Mapping[str, int] = field(default_factory=dict[str, int])
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])


DIRECT: Final = Decided()


def decide(text: str, rules: DecisionRules = DEFAULT_RULES) -> Decided:
    """Return the strategy of a message. Never raises: whatever goes wrong, the message is direct."""
    try:
        return _decide(text, rules)
    except Exception:  # noqa: BLE001 - a rule that fails must not keep a message from a model
        return DIRECT


def _decide(text: str, rules: DecisionRules) -> Decided:
    if is_internal(text) or len(text.strip()) < MIN_CHARACTERS or CONFIRMATION.match(text[:200]):
        return DIRECT
    table = rules.table
    compact = compact_for_routing(text, table)
    hits = count_hits(compact, table)
    asks = QUESTION.search(compact) is not None
    creates_agent = any(pattern.search(compact) for pattern in table.creates_agent)
    # Who asks for an agent that watches something wants an agent, not a schedule.
    if not asks and ("schedule" in hits or ("continuous" in hits and not creates_agent)):
        parameters = {"title": make_title(text), "interval": find_interval(compact)}
        return Decided("scheduled_task", _only(hits, "schedule", "continuous"), parameters)
    if "agent" in hits:
        named = _NAME_OF_AGENT.search(compact)
        name = named[1].strip() if named else make_title(text)
        parameters = {"name": name, "description": text.strip()[:MAX_DESCRIPTION], "autonomy": "semi"}
        return Decided("sub_agent", _only(hits, "agent"), parameters)
    if "script" in hits:
        return Decided("script", _only(hits, "script"))
    if goal := _only(hits, "chain", "report", "research"):
        return Decided("goal", goal)
    return DIRECT


def _only(hits: Mapping[Family, int], *families: Family) -> dict[str, int]:
    return {family: hits[family] for family in families if family in hits}


def make_title(text: str) -> str:
    """Return the first words of a message without what is mere politeness, at most MAX_TITLE characters."""
    line = " ".join(_POLITE.sub("", text.strip()[:400]).split())
    if len(line) <= MAX_TITLE:
        return line
    cut = line[:MAX_TITLE]
    return cut[: cut.rindex(" ")] if " " in cut else cut
