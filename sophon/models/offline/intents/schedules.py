"""Schedule intents: a task at set times ("every morning at eight tell me ..."), a reminder, the list, a removal."""

import re
from typing import Any

from sophon.decisions.fast_paths.fast_paths import fast_path
from sophon.decisions.number_words import read_number
from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.language.english import strip_quotes
from sophon.models.offline.tool_results import format_block
from sophon.tools.tool import Risk

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_HOURS = {word: number for number, word in enumerate(_NUMBERS, 1)}
_HOUR = "|".join(_HOURS)
_AT = rf"(?:,? at (?P<at>noon|midnight|(?:\d{{1,2}}(?:[:.][0-5]\d)?|{_HOUR})(?: ?(?:a\.?m\.?|p\.?m\.?|o['’]clock))?))?"
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_PART = r"morning|noon|afternoon|evening|night|day|weekday|weekend|" + "|".join(_DAYS)
_WHEN = (
    rf"(?:(?:every|each) (?P<part>{_PART})|(?P<daily>daily)){_AT}"
    r"|(?:every|each) (?:(?P<count>\d{1,4}|two|three|five|ten|fifteen|twenty|thirty) )?(?P<unit>minute|hour)s?"
    r"|(?P<hourly>hourly)"
)
_TASK = r"(?P<task>\S.*)"
_FORMS = (
    re.compile(rf"(?:{_WHEN}),?:? (?:please )?{_TASK}", re.IGNORECASE | re.DOTALL),
    re.compile(rf"{_TASK} (?:{_WHEN})[.!]?", re.IGNORECASE | re.DOTALL),
)
_TIMES = re.compile(r"(\d{1,2}|[a-z]+)(?:[:.](\d\d))?(?: ?(am|a\.m\.?|pm|p\.m\.?|o['’]clock))?", re.IGNORECASE)
_HOUR_OF_PART = {"noon": 12, "afternoon": 15, "evening": 18, "night": 21}
_MORNING = 8
"""Hour of a daily task that names none."""


def _match_add(intent_input: IntentInput) -> PlannedCall | None:
    clause = intent_input.clause.strip().rstrip(".!")
    found = fast_path(clause)
    if found is not None and found.tool == "schedules.add":
        return PlannedCall(found.tool, found.arguments)
    for form in _FORMS:
        match = form.fullmatch(clause)
        if match is not None and (times := _read_times(match)) is not None:
            return PlannedCall("schedules.add", {"text": strip_quotes(match["task"].strip()), **times})
    return None


def _match_other(tool: str, intent_input: IntentInput) -> PlannedCall | None:
    found = fast_path(intent_input.clause.strip())
    return PlannedCall(tool, found.arguments) if found is not None and found.tool == tool else None


def _match_list(intent_input: IntentInput) -> PlannedCall | None:
    return _match_other("schedules.list", intent_input)


def _match_remove(intent_input: IntentInput) -> PlannedCall | None:
    return _match_other("schedules.remove", intent_input)


def _read_times(match: re.Match[str]) -> dict[str, Any] | None:
    if match["hourly"] or match["unit"]:
        count = read_number(match["count"] or "1")
        return {"every": f"{count:g} {(match['unit'] or 'hour').lower()}s"} if count else None
    part = (match["part"] or "day").lower()
    clock = _read_clock(match["at"], part)
    if clock is None:
        return None
    weekday = {"weekday": "1-5", "weekend": "0,6"}.get(part) or (str(_DAYS.index(part)) if part in _DAYS else "*")
    return {"cron": f"{clock[1]} {clock[0]} * * {weekday}"}


def _read_clock(at: str | None, part: str) -> tuple[int, int] | None:
    """Return hour and minute; of the part of the day without a time."""
    if at is None:
        return _HOUR_OF_PART.get(part, _MORNING), 0
    if at.lower() in ("noon", "midnight"):
        return (12 if at.lower() == "noon" else 0), 0
    found = _TIMES.fullmatch(at.strip())
    if found is None:
        return None
    hour = _HOURS.get(found[1].lower(), int(found[1]) if found[1].isdecimal() else 24)
    half = (found[3] or "").lower()[:1]
    if half in ("a", "p"):
        hour = hour % 12 + (12 if half == "p" else 0)
    elif hour < 12 and part in ("afternoon", "evening", "night"):
        hour += 12
    return (hour, int(found[2] or 0)) if hour < 24 else None


def _describe_add(result: CallResult) -> str:
    return result.text.strip() or "It is done."


def _describe_list(result: CallResult) -> str:
    return f"Your schedules:\n\n{format_block(result.text)}"


SCHEDULE = Intent(
    tool="schedules.add",
    group="schedules",
    match_clause=_match_add,
    describe_result=_describe_add,
    describe_call=lambda call: f"make a schedule for {str(call.arguments.get('text', ''))!r}",
    risk=Risk.HIGH,
)
LIST_SCHEDULES = Intent(
    tool="schedules.list",
    group="schedules",
    match_clause=_match_list,
    describe_result=_describe_list,
    describe_call=lambda _: "list the schedules",
    risk=Risk.NONE,
)
REMOVE_SCHEDULE = Intent(
    tool="schedules.remove",
    group="schedules",
    match_clause=_match_remove,
    describe_result=_describe_add,
    describe_call=lambda call: f"remove the schedule {call.arguments.get('name', '')!r}",
    risk=Risk.MEDIUM,
)
