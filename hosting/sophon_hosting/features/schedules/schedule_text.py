"""Schedules in words: when one runs, and the times of its next runs. Not by the locale of the machine."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sophon_hosting.features.schedules.occurrences import Recurrence, find_zone

DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_UNITS: Final = ((604800, "week"), (86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def format_moment(moment: datetime, time_zone: str) -> str:
    """Return a moment as people of the zone write it: `Mon 24 Nov 2026, 08:00`."""
    local = moment.astimezone(find_zone(time_zone))
    return f"{DAYS[local.weekday()][:3]} {local.day} {MONTHS[local.month - 1]} {local.year}, {local:%H:%M}"


def describe_recurrence(recurrence: Recurrence) -> str:
    """Return when a schedule is due: `every day at 08:00 (Europe/Vienna)`, `every 15 minutes`, `once on ...`."""
    zone = recurrence.time_zone
    if recurrence.kind == "once":
        return f"once on {format_moment(datetime.fromisoformat(recurrence.expression), zone)} ({zone})"
    if recurrence.kind == "interval":
        return describe_interval(int(recurrence.expression))
    return f"{describe_cron(recurrence.expression)} ({zone})"


def describe_interval(seconds: int) -> str:
    """Return `every 15 minutes`, in the largest unit that it is a multiple of."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    count = seconds // size
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def describe_cron(expression: str) -> str:
    """Return five cron fields in words where they are a time of day; otherwise the fields."""
    minute, hour, day, month, weekday = expression.split()
    at = _describe_time(minute, hour)
    if at is None or month != "*":
        return f"by the cron fields {expression}"
    if (day, weekday) == ("*", "*"):
        return f"every day {at}"
    if day == "*" and (days := _describe_weekdays(weekday)):
        return f"{days} {at}"
    if weekday == "*" and day.isdecimal():
        return f"on day {int(day)} of every month {at}"
    return f"by the cron fields {expression}"


def describe_next(times: Sequence[datetime], time_zone: str) -> str:
    """Return the next times as a sentence."""
    if not times:
        return "It will not run any more."
    said = "; ".join(format_moment(each, time_zone) for each in times)
    return f"Next: {said} ({time_zone})."


def _describe_time(minute: str, hour: str) -> str | None:
    return f"at {int(hour):02}:{int(minute):02}" if minute.isdecimal() and hour.isdecimal() else None


def _describe_weekdays(field: str) -> str:
    if field.upper() in ("1-5", "MON-FRI"):
        return "Monday to Friday"
    if field in ("0,6", "6,0", "6,7"):
        return "Saturday and Sunday"
    if field.isdecimal():
        return f"every {DAYS[(int(field) + 6) % 7]}"
    short = [each[:3].upper() for each in DAYS]
    return f"every {DAYS[short.index(field.upper())]}" if field.upper() in short else ""
