"""Arguments of the tools of fast paths, from the match of a message."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from sophon.decisions.numbers import read_number

Arguments = Callable[[Any], Mapping[str, Any] | None]
"""Makes the arguments of a match; None if the message is none of the family after all."""


def no_arguments(match: re.Match[str]) -> Mapping[str, Any]:
    """Return no arguments."""
    return {}


def take_groups(*names: str) -> Arguments:
    """Return arguments with the named groups of the match, as they were written."""
    return lambda match: {name: match[name].strip() for name in names if match[name]}


def reminder_after(match: re.Match[str]) -> Mapping[str, Any] | None:
    """Return the minutes from now and the text of a reminder."""
    number = read_number(match["number"])
    unit = match["unit"].lower()
    factor = 1 if unit.startswith("min") else 60 if unit.startswith("h") else 1440
    minutes = round(number * factor) if number is not None else 0
    return {"in_minutes": minutes, "text": match["text"].strip()} if minutes > 0 else None


def _clock_time(match: re.Match[str]) -> str | None:
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    half = (match["half"] or "").lower()[:1]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{hour:02}:{minute:02}" if hour < 24 else None


def reminder_at(match: re.Match[str]) -> Mapping[str, Any] | None:
    """Return the time of day and the text of a reminder."""
    at = _clock_time(match)
    return None if at is None else {"at": at, "text": match["text"].strip()}


_DAYS: Final = {
    "hoy": "today",
    "mañana": "tomorrow",
    "pasado mañana": "in 2 days",
    "lunes": "monday",
    "martes": "tuesday",
    "miércoles": "wednesday",
    "jueves": "thursday",
    "viernes": "friday",
    "sábado": "saturday",
    "domingo": "sunday",
}


def reminder_on_day(match: re.Match[str]) -> Mapping[str, Any] | None:
    """Return day, time of day and text of a reminder."""
    at = _clock_time(match)
    if at is None:
        return None
    day = match["day"].lower().removeprefix("on ").removeprefix("next ").removeprefix("el ")
    return {"day": _DAYS.get(day, day), "at": at, "text": match["text"].strip()}


def time_zone(match: re.Match[str]) -> Mapping[str, Any]:
    """Return the place that a question about the time names."""
    place = match.groupdict().get("place")
    return {"timezone": place.strip()} if place else {}


def mail(match: re.Match[str]) -> Mapping[str, Any] | None:
    """Return the mail that a message dictates; the recipient is the one that it names, and no other."""
    body = match["text"].strip().strip("\"“”'")
    return {"to": match["to"], "body": body} if len(body) >= 2 else None
