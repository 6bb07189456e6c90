"""How often a message wants something done, as one of few phrases."""

import re
from typing import Final

from sophon.lazy_pattern import lazy_pattern

DEFAULT_INTERVAL: Final = "hourly"
"""Interval of a message that names none. Source: reference/wasp.md 4.8."""

_NUMBERED = lazy_pattern(
    r"\b(?:every|cada) (\d{1,4}) (minute|minuto|hour|hora|day|día|dia|week|semana)s?\b", re.IGNORECASE
)
_UNITS: Final = {
    "minute": "minutes",
    "minuto": "minutes",
    "hour": "hours",
    "hora": "hours",
    "day": "days",
    "día": "days",
    "dia": "days",
    "week": "weeks",
    "semana": "weeks",
}
_PHRASES: Final = (
    ("every 1 minutes", lazy_pattern(r"\b(?:every|cada) (?:minute|minuto)\b", re.IGNORECASE)),
    (
        "weekly",
        lazy_pattern(
            r"\b(?:weekly|semanalmente|once a week)\b|\b(?:every|each|cada) (?:week|semana|(?:mon|tues|wednes|thurs|fri"
            r"|satur|sun)day|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b|\btodos los (?:lunes|martes"
            r"|miércoles|jueves|viernes|sábados|domingos)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "daily",
        lazy_pattern(
            r"\b(?:daily|nightly|diariamente|a diario|once a day)\b|\b(?:every|each|cada) (?:day|morning|noon|afternoon"
            r"|evening|night|weekday|día|dia|mañana|tarde|noche)\b"
            r"|\btod[ao]s l[ao]s (?:días|dias|mañanas|tardes|noches)\b",
            re.IGNORECASE,
        ),
    ),
    ("hourly", lazy_pattern(r"\b(?:hourly|(?:every|each|cada) (?:hour|hora)|once an hour)\b", re.IGNORECASE)),
)
_SINGLE: Final = {"hours": "hourly", "days": "daily", "weeks": "weekly"}


def find_interval(text: str) -> str:
    """Return `every N minutes` (or hours, days, weeks), `hourly`, `daily` or `weekly`; DEFAULT_INTERVAL without any."""
    numbered = _NUMBERED.search(text)
    if numbered is not None and (count := int(numbered[1])) > 0:
        unit = _UNITS[numbered[2].lower()]
        return _SINGLE.get(unit, f"every {count} {unit}") if count == 1 else f"every {count} {unit}"
    return next((phrase for phrase, pattern in _PHRASES if pattern.search(text)), DEFAULT_INTERVAL)
