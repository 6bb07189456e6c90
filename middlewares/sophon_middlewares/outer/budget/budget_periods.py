"""Budget periods: the day and month that usage is charged to, and their ends."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from sophon.stores.usage.contract import Period


def budget_period(now: datetime, time_zone: str) -> Period:
    """Return the day and month of a moment, in a time zone."""
    known = _current.get(time_zone)
    if known is not None and known[0] <= now < known[1]:
        return known[2]
    local = now.astimezone(_zone(time_zone))
    period = _period(local.year, local.month, local.day)
    minute = now.astimezone(UTC).replace(second=0, microsecond=0)
    _current[time_zone] = minute, minute + _MINUTE, period
    return period


_MINUTE = timedelta(minutes=1)
_current: dict[str, tuple[datetime, datetime, Period]] = {}
"""Time zone -> the last period that was asked for, with the minute for which it holds. Every attempt of a model call
needs one. Not until midnight: clocks that are set back shortly after midnight have the day before once more."""


def end_of_day(now: datetime, time_zone: str) -> datetime:
    """Return the next midnight of the time zone, in UTC."""
    local = now.astimezone(_zone(time_zone)) + timedelta(days=1)
    return datetime(local.year, local.month, local.day, tzinfo=_zone(time_zone)).astimezone(UTC)


def end_of_month(now: datetime, time_zone: str) -> datetime:
    """Return the first midnight of the time zone's next month, in UTC."""
    local = now.astimezone(_zone(time_zone))
    year, month = (local.year + 1, 1) if local.month == 12 else (local.year, local.month + 1)
    return datetime(year, month, 1, tzinfo=_zone(time_zone)).astimezone(UTC)


@lru_cache(maxsize=32)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


@lru_cache(maxsize=8)
def _period(year: int, month: int, day: int) -> Period:
    return Period(f"{year:04}-{month:02}-{day:02}", f"{year:04}-{month:02}")
