"""Time and date: asks datetime.now, the only clock the offline model has, and reads its answer."""

import re
from datetime import datetime, timedelta

from sophon.models.offline.skill import Ask, Finding, Skill, Wish
from sophon.models.offline.words import capitalised
from sophon.tools.tool import Risk

_ASKS = re.compile(
    r"\b(?:what|which) (?:day|date|time|weekday|year|month)(?: of the (?:week|month|year))? "
    r"(?:is|will|was) (?:it|today|tomorrow|yesterday|now)\b"
    r"|\b(?:what(?:['’]?s| is)|tell me|give me|show me|check|get|look up) "
    r"(?:the |today['’]s )?(?:current |exact |local )?"
    r"(?:date|time|day|weekday|year)\b(?! (?:of|for|complexity|when|that|to|limit|between)\b)"
    r"|^the (?:current )?(?:time|date|day|weekday)(?: (?:in|now|today)\b|$)"
    r"|\b(?:today|tomorrow|yesterday)['’]s (?:date|day|weekday)\b|\bcurrent (?:date|time)\b"
    r"|\bwhat(?:['’]?s| is) (?:today|tomorrow)\b|\b(?:what|which) (?:date|day|time) (?:today|now|tomorrow)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:in|for) (?!the\b|this\b|my\b|words\b)([^\W\d_][\w./'+-]*(?: [^\W\d_][\w.'-]*){0,3})", re.IGNORECASE
)
_BEHIND = re.compile(
    r" (?:right now|now|today|tomorrow|yesterday|currently|at the moment|please|right)\b.*", re.IGNORECASE
)
_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)")
_TIME = re.compile(r"\btime\b", re.IGNORECASE)
_FIRST, _LAST = datetime(1, 1, 3), datetime(9999, 12, 29)  # days can be added in between
_SHIFTS = (("day after tomorrow", 2), ("tomorrow", 1), ("yesterday", -1))


def _match(ask: Ask) -> Wish | None:
    if not _ASKS.search(ask.clause):
        return None
    place = _place(ask.clause)
    return Wish("datetime.now", {"timezone": place} if place else {})


def _tell(finding: Finding) -> str:
    stamp = _STAMP.search(finding.text)
    if stamp is None:
        return f"The clock says: {finding.text.strip()}."
    year, month, day, hour, minute = (int(part) for part in stamp.groups())
    try:
        moment = datetime(year, month, day, hour, minute)
    except ValueError:
        return f"The clock says: {finding.text.strip()}."
    return _named(moment, finding)


def _named(moment: datetime, finding: Finding) -> str:
    zone = str(finding.wish.arguments.get("timezone", "UTC"))
    for word, days in _SHIFTS:
        if word in finding.clause.lower() and _FIRST <= moment <= _LAST:
            return f"{capitalised(word)}: {_day(moment + timedelta(days=days))} ({zone})."
    if _TIME.search(finding.clause):
        return f"It is {moment:%H:%M} on {_day(moment)} ({zone})."
    return f"Today is {_day(moment)}, {moment:%H:%M} ({zone})."


def _day(moment: datetime) -> str:
    return f"{_DAYS[moment.weekday()]}, {moment.day} {_MONTHS[moment.month - 1]} {moment.year} ({moment:%Y-%m-%d})"


def _place(clause: str) -> str:
    """A city or a zone as the person wrote it; the tool knows them, and says so if it does not."""
    found = _PLACE.search(clause)
    return _BEHIND.sub("", found[1]).rstrip(".'") if found else ""


# Not strftime's names: they change with the machine's locale.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

DATES = Skill(
    tool="datetime.now",
    group="time",
    match=_match,
    tell=_tell,
    deed=lambda _: "ask for the time",
    risk=Risk.NONE,
)
