"""Date and time intent: call datetime.now, the offline model's only clock, and describe its result."""

import re
from datetime import datetime, timedelta

from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.language.english import capitalise
from sophon.tools.tool import Risk

_QUESTION = re.compile(
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
_TRAILING_WORDS = re.compile(
    r" (?:right now|now|today|tomorrow|yesterday|currently|at the moment|please|right)\b.*", re.IGNORECASE
)
_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)")
_TIME = re.compile(r"\btime\b", re.IGNORECASE)
EARLIEST, LATEST = datetime(1, 1, 3), datetime(9999, 12, 29)  # range in which days can be added safely
_DAY_OFFSETS = (("day after tomorrow", 2), ("tomorrow", 1), ("yesterday", -1))


def _match(intent_input: IntentInput) -> PlannedCall | None:
    if not _QUESTION.search(intent_input.clause):
        return None
    place = _extract_place(intent_input.clause)
    return PlannedCall("datetime.now", {"timezone": place} if place else {})


def read_moment(text: str) -> datetime | None:
    """Return the time of a result, in its time zone; None if there is none."""
    timestamp = _TIMESTAMP.search(text)
    if timestamp is None:
        return None
    year, month, day, hour, minute = (int(part) for part in timestamp.groups())
    try:
        return datetime(year, month, day, hour, minute)
    except ValueError:
        return None


def _describe_result(result: CallResult) -> str:
    moment = read_moment(result.text)
    return f"The clock says: {result.text.strip()}." if moment is None else _describe_moment(moment, result)


def _describe_moment(moment: datetime, result: CallResult) -> str:
    zone = str(result.call.arguments.get("timezone", "UTC"))
    for word, days in _DAY_OFFSETS:
        if word in result.clause.lower() and EARLIEST <= moment <= LATEST:
            return f"{capitalise(word)}: {_format_day(moment + timedelta(days=days))} ({zone})."
    if _TIME.search(result.clause):
        return f"It is {moment:%H:%M} on {_format_day(moment)} ({zone})."
    return f"Today is {_format_day(moment)}, {moment:%H:%M} ({zone})."


def _format_day(moment: datetime) -> str:
    return f"{_DAYS[moment.weekday()]}, {moment.day} {_MONTHS[moment.month - 1]} {moment.year} ({moment:%Y-%m-%d})"


def _extract_place(clause: str) -> str:
    """Return the city or time zone as written by the user; the tool validates it."""
    found = _PLACE.search(clause)
    return _TRAILING_WORDS.sub("", found[1]).rstrip(".'") if found else ""


# Not strftime's names, which depend on the locale.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

DATE_TIME = Intent(
    tool="datetime.now",
    group="time",
    match_clause=_match,
    describe_result=_describe_result,
    describe_call=lambda _: "ask for the time",
    risk=Risk.NONE,
)
