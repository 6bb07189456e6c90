"""Quiet hours: a part of the day in which nothing is fired."""

from datetime import datetime, time, timedelta
from typing import Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.errors import InputError
from sophon_hosting.features.schedules.occurrences import find_zone, to_moment

NO_QUIET_HOURS: Final = "none"
"""Quiet hours of a schedule that has none, whatever the settings say."""

_WINDOW = lazy_pattern(r"((?:[01][0-9]|2[0-3]):[0-5][0-9])\s?-\s?((?:[01][0-9]|2[0-3]):[0-5][0-9])")


def check_quiet_hours(window: str) -> str:
    """Return quiet hours in one spelling: `22:00-07:00`, `none`, or "" for those of the settings. Raises InputError."""
    if window.strip() in ("", NO_QUIET_HOURS):
        return window.strip()
    return "-".join(f"{each:%H:%M}" for each in parse_quiet_hours(window))


def parse_quiet_hours(window: str) -> tuple[time, time]:
    """Return begin and end of `22:00-07:00`; the end does not belong to it. Raises InputError."""
    found = _WINDOW.fullmatch(window.strip())
    if found is None or found[1] == found[2]:
        raise InputError(f"{window!r} are no quiet hours; give them as 22:00-07:00, or none")
    return time.fromisoformat(found[1]), time.fromisoformat(found[2])


def find_quiet_end(window: str, time_zone: str, moment: datetime) -> datetime | None:
    """Return when the quiet hours end that a moment is in; None if it is in none."""
    if window in ("", NO_QUIET_HOURS):
        return None
    begin, end = parse_quiet_hours(window)
    zone = find_zone(time_zone)
    local = moment.astimezone(zone)
    now = local.time()
    is_quiet = begin <= now < end if begin < end else now >= begin or now < end
    if not is_quiet:
        return None
    days = 1 if begin > end and now >= begin else 0
    return to_moment(datetime.combine(local.date() + timedelta(days=days), end), zone)
