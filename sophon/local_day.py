"""Local day: the midnight, in a time zone, from which a daily limit counts."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

LONGEST_DAY_SECONDS = 25 * 3600.0
"""Length of the longest day, in which summer time ends."""


def find_start_of_day(now: datetime, time_zone: str) -> datetime:
    """Return the midnight before a moment, in UTC: of two in one night the first, as a day has one budget."""
    zone = ZoneInfo(time_zone)
    local = now.astimezone(zone)
    return datetime(local.year, local.month, local.day, tzinfo=zone).astimezone(UTC)
