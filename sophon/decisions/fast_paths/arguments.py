"""Arguments of the tools of fast paths, from the named parts of a message."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.grammar_terminals import MESES, MONTHS
from sophon.decisions.message_patterns import fold
from sophon.decisions.number_words import read_number

Parts = Mapping[str, str]
"""The named parts of a message that matches; "" for one that is absent."""

Arguments = Callable[[Parts], Mapping[str, Any] | None]
"""Makes the arguments of a match; None if the message is none of the family after all."""

QUOTES: Final = "\"“”«»'’ "

REMINDERS: Final = {"en": "Your reminder", "es": "Tu recordatorio"}
"""Text of a reminder that is asked for without one, by the language in which it is."""

_NOW: Final = ("now", "right now", "at the moment", "today", "hoy", "ahora", "ahora mismo")

_MINUTES: Final = {"m": 1, "h": 60, "d": 1440, "w": 10_080, "s": 10_080}

_TIME = lazy_pattern(
    r"(?P<before>half past |quarter past |quarter to )?(?P<hour>\d{1,2}|[a-z]+)(?:[:.h](?P<minute>[0-5]\d))?"
    r"(?: ?(?P<half>[ap])\.? ?m\b\.?| ?hrs?| ?h| o'clock| y (?P<behind>media|cuarto))?"
    r"(?: in the (?P<part>morning|afternoon|evening)| at (?P<night>night)| de la (?P<parte>manana|tarde|noche))?"
)

_NAMED: Final = {"noon": 12, "midday": 12, "mediodia": 12, "midnight": 0, "medianoche": 0}

_FRACTION_MINUTES: Final = {"half past ": 30, "quarter past ": 15, "quarter to ": -15, "media": 30, "cuarto": 15}

_AFTER_NOON: Final = ("p", "afternoon", "evening", "night", "tarde", "noche")

_DAYS: Final = {
    "hoy": "today",
    **dict.fromkeys(("tonight", "this morning", "this afternoon", "this evening", "esta tarde", "esta noche"), "today"),
    "manana": "tomorrow",
    "pasado manana": "in 2 days",
    "the day after tomorrow": "in 2 days",
    "lunes": "monday",
    "martes": "tuesday",
    "miercoles": "wednesday",
    "jueves": "thursday",
    "viernes": "friday",
    "sabado": "saturday",
    "domingo": "sunday",
}

_PARTS_OF_DAYS: Final = {
    "tonight": "night",
    "this morning": "morning",
    "this afternoon": "afternoon",
    "this evening": "evening",
    "esta tarde": "tarde",
    "esta noche": "noche",
}

_COUNT: Final = r"(?:\d+|half an?|an?|few|two|three|four|five|six|ten|twenty|un|una|media|dos|tres|cuatro|cinco|diez)"

_NAMES_TIME = lazy_pattern(
    r"\b(?:today|tonight|tomorrow|mornings?|afternoons?|evenings?|nights?|noon|midday|midnight|week(?:day|end)?s?"
    rf"|{_COUNT} (?:minute|min|hour|day|month|year)s?|every|each|hourly|daily|nightly|weekly|monthly|yearly|twice"
    r"|times?|before|after|until|next|this (?:month|year)|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|may \d+"
    r"|\d+(?:st|nd|rd|th)|\d+ ?[ap]\.?m|(?:at|by|in|for|around) (?:\d+|half|one|seven|eight|nine|eleven|twelve)"
    rf"|hoy|mananas?|tardes?|noches?|mediodia|medianoche|{_COUNT} (?:minuto|hora|dia|mese?|ano)s?|semanas?|mes|cada"
    r"|tod[oa]s l[oa]s|diari[oa]s?|diariamente|semanal(?:mente)?|mensual(?:mente)?|veces|antes|despues|hasta"
    r"|proxim[oa]s?|lunes|martes|miercoles|jueves|viernes|sabados?|domingos?|las? \d+|en \d+"
    rf"|{'|'.join(each for each in (*MONTHS, *MESES) if each != 'may')})\b"
)

_DANGLING = lazy_pattern(r"(?:(?:at|on|for|in|by|to|of|and|the|this|a|an|el|la|los|las|de|para|en|y|este|esta)\b\W*)+")

_DATE = lazy_pattern(r"(?:(\d{1,2})\D* )?([a-z]+)(?: (\d{1,2})\D*)?")


def no_arguments(parts: Parts) -> Mapping[str, Any]:
    """Return no arguments."""
    return {}


def take_parts(*names: str) -> Arguments:
    """Return arguments with the named parts of the message, without quotes around them."""
    return lambda parts: {name: parts[name].strip(QUOTES) for name in names if parts.get(name, "").strip(QUOTES)}


def reminder_after(parts: Parts) -> Mapping[str, Any] | None:
    """Return the minutes from now and the text of a reminder."""
    number = read_number(parts["number"])
    minutes = 0 if number is None else round(number * _MINUTES[parts["unit"][0].lower()])
    return _remind(parts, in_minutes=minutes) if minutes > 0 else None


def reminder_at(parts: Parts) -> Mapping[str, Any] | None:
    """Return the time of day and the text of a reminder."""
    at = read_time(parts["time"])
    return None if at is None else _remind(parts, at=at)


def reminder_on_day(parts: Parts) -> Mapping[str, Any] | None:
    """Return day, time of day and text of a reminder."""
    at = read_time(parts["time"], parts["day"])
    return None if at is None else _remind(parts, day=read_day(parts["day"]), at=at)


def _remind(parts: Parts, **when: Any) -> Mapping[str, Any] | None:
    """Return the arguments of a reminder; None if the text has a further time, which only a model can understand."""
    text = parts.get("text") or ""
    return {**when, "text": text or REMINDERS[parts["language"]]} if is_free_of_times(text) else None


def weather(parts: Parts) -> Mapping[str, Any] | None:
    """Return the place, and the day unless it is now; None for a place with a time that no pattern knows."""
    place, when = parts["place"].strip(QUOTES), parts.get("when", "")
    if not is_free_of_times(place):
        return None
    return {"place": place} if not when or fold(when) in _NOW else {"place": place, "when": when}


def page(parts: Parts) -> Mapping[str, Any]:
    """Return the address of a page; one without a scheme is asked for by https."""
    return {"url": parts.get("url") or f"https://{parts['domain']}"}


def time_zone(parts: Parts) -> Mapping[str, Any]:
    """Return the place that a question about the time names."""
    return {"timezone": parts["place"]} if parts.get("place") else {}


def mail(parts: Parts) -> Mapping[str, Any] | None:
    """Return the mail that a message dictates; the recipient is the one that it names, and no other."""
    subject, body = parts.get("subject", "").strip(QUOTES), parts["text"].strip(QUOTES)
    if len(body) < 2:
        return None
    return {"to": parts["to"], **({"subject": subject} if subject else {}), "body": body}


def read_time(text: str, day: str = "") -> str | None:
    """Return a time of day as `HH:MM`; None for what is none, or is not clear: "tonight at 2" is tomorrow."""
    match = _TIME.fullmatch(fold(text).lower().strip())
    hour = None if match is None else _NAMED.get(match["hour"], read_number(match["hour"]))
    if match is None or hour is None:
        return None
    part = match["half"] or match["part"] or match["night"] or match["parte"]
    part = part or _PARTS_OF_DAYS.get(fold(day).lower().strip())
    if day and not hour:
        return None
    if part and match["hour"] not in _NAMED:
        if hour == 12 and part in ("morning", "manana"):
            return None
        if not 1 <= hour <= 12 and not (part in ("afternoon", "evening", "tarde", "noche") and hour < 24):
            return None
        if part in ("night", "noche") and (hour < 5 or hour == 12):
            if day:
                return None
            hour %= 12
        elif hour <= 12:
            hour = hour % 12 + (12 if part in _AFTER_NOON else 0)
    minutes = _FRACTION_MINUTES.get(match["before"] or match["behind"] or "", 0) + int(match["minute"] or 0)
    hour, minute = divmod(int(hour) * 60 + minutes, 60)
    return f"{hour:02}:{minute:02}" if 0 <= hour < 24 else None


def is_free_of_times(text: str) -> bool:
    """Return whether a text names no time, day or recurrence, nor is a rest of one: all of it is what to remind of."""
    plain = fold(text)
    return _NAMES_TIME.search(plain) is None and _DANGLING.fullmatch(plain) is None


def read_day(text: str) -> str:
    """Return a day in the words of `schedules.add`: today, in 2 days, monday, 3 march, 2026-12-24."""
    day = fold(text).lower().strip()
    if day in _DAYS or (date := _DATE.fullmatch(day)) is None or not (number := date[1] or date[3]):
        return _DAYS.get(day, day)
    month = MONTHS[MESES.index(date[2])] if date[2] in MESES else date[2]
    return f"{number} {month}"
