"""Which kind of work a message asks for: five strategies, by patterns alone. Source: WASP, Decision Layer."""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.family_patterns import CONFIRMATION, CREATES_AGENT, QUESTION, Family, count_hits, is_internal
from sophon.decisions.message_patterns import fold
from sophon.decisions.message_shortening import shorten_for_routing
from sophon.decisions.number_words import WORDS, read_number

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

DEFAULT_INTERVAL: Final = "hourly"
"""Interval of a message that names none. Source: WASP, Decision Layer."""

_UNITS: Final = {
    **dict.fromkeys(("minute", "minuto"), "minutes"),
    **dict.fromkeys(("hour", "hora"), "hours"),
    **dict.fromkeys(("day", "dia"), "days"),
    **dict.fromkeys(("week", "semana"), "weeks"),
}

_NUMBERED = lazy_pattern(
    rf"\b(?:every|each|cada) (\d{{1,4}}|other|{'|'.join(each for each in WORDS if len(each) > 2)})"
    rf" ({'|'.join(_UNITS)})s?\b"
)

_WEEKDAY: Final = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|lunes|martes|miercoles|jueves|viernes|sabados?|domingos?"
)

_PHRASES: Final = (
    ("every 12 hours", lazy_pattern(r"\btwice (?:a|per|every) day\b|\bdos veces al dia\b")),
    ("every 1 minutes", lazy_pattern(r"\b(?:every|cada) (?:minute|minuto)\b")),
    (
        "weekly",
        lazy_pattern(
            r"\b(?:weekly|semanal(?:es|mente)?|once (?:a|per|every) week|una vez (?:a la|por) semana)\b"
            rf"|\b(?:every|each|cada|todos los|todas las) (?:weeks?|semanas?|{_WEEKDAY})\b"
        ),
    ),
    (
        "daily",
        lazy_pattern(
            r"\b(?:daily|nightly|diariamente|diari[oa]s?|once (?:a|per|every) day|una vez (?:al|por) dia)\b"
            r"|\b(?:every|each|cada|todos los|todas las)"
            r" (?:day|morning|noon|afternoon|evening|night|weekday|dia|manana|tarde|noche)s?\b"
        ),
    ),
    ("hourly", lazy_pattern(r"\b(?:hourly|(?:every|each|cada) (?:hour|hora)|once an hour|una vez por hora)\b")),
)

_SINGLE: Final = {"hours": "hourly", "days": "daily", "weeks": "weekly"}


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


def decide(text: str) -> Decided:
    """Return the strategy of a message. Never raises: whatever goes wrong, the message is direct."""
    try:
        return _decide(text)
    except Exception:  # noqa: BLE001 - a rule that fails must not keep a message from a model
        return DIRECT


def _decide(text: str) -> Decided:
    if is_internal(text) or len(text.strip()) < MIN_CHARACTERS or CONFIRMATION.match(text[:200]):
        return DIRECT
    compact = shorten_for_routing(text)
    hits = count_hits(compact)
    asks = QUESTION.search(compact) is not None
    creates_agent = any(pattern.search(compact) for pattern in CREATES_AGENT)
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


def find_interval(text: str) -> str:
    """Return `every N minutes` (or hours, days, weeks), `hourly`, `daily` or `weekly`; DEFAULT_INTERVAL without any."""
    plain = fold(text)
    numbered: re.Match[str] | None = _NUMBERED.search(plain)
    if numbered is not None and (count := int(2 if numbered[1] == "other" else read_number(numbered[1]) or 0)) > 0:
        unit = _UNITS[numbered[2]]
        return _SINGLE.get(unit, f"every {count} {unit}") if count == 1 else f"every {count} {unit}"
    return next((phrase for phrase, pattern in _PHRASES if pattern.search(plain)), DEFAULT_INTERVAL)
