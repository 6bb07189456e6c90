"""Requests for a schedule: what a person, a model or a client asks for, as a recurrence and its other values."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any, Final, cast

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.errors import InputError
from sophon_hosting.features.schedules.occurrences import (
    Recurrence,
    check_cron,
    find_shortest_gap,
    find_zone,
    to_moment,
)
from sophon_hosting.features.schedules.quiet_hours import check_quiet_hours
from sophon_hosting.features.schedules.schedule import Misfire, QuietAction
from sophon_hosting.features.schedules.settings import SchedulesSettings

MAX_TEXT_CHARACTERS: Final = 4000
MAX_AHEAD: Final = timedelta(days=3660)
"""How far ahead a single moment may be."""

COMPARED_TIMES: Final = 100
"""Next times whose gaps are compared with the shortest allowed one."""

REQUEST_FIELDS: Final = (
    *("text", "cron", "every", "at", "day", "in_minutes", "time_zone", "title"),
    *("misfire", "quiet_hours", "quiet_action"),
)
_EVERY = lazy_pattern(r"(?:every )?(?:(\d{1,6}) ?)?(second|minute|hour|day|week)s?", re.IGNORECASE)
_NAMED: Final = {"hourly": 3600, "daily": 86400, "weekly": 604800}
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_CLOCK = lazy_pattern(r"([01]?\d|2[0-3]):([0-5]\d)")
_IN_DAYS = lazy_pattern(r"in (\d{1,4}) days?", re.IGNORECASE)
_DATE = lazy_pattern(r"(\d{1,2}) ([a-z]+)", re.IGNORECASE)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True)
class ScheduleRequest:
    """What is asked for: the text, and exactly one of `cron`, `every`, `at` (with `day`, or not) and `in_minutes`.

    `every` is a number and a unit (`15 minutes`), or hourly, daily, weekly; `at` a time of day (`08:00`) or a local
    date and time (`2026-12-24T18:00`); `day` today, tomorrow, `in 3 days`, a weekday, `24 december` (the next) or a
    date. None: as in the settings.
    """

    text: str
    cron: str | None = None
    every: str | None = None
    at: str | None = None
    day: str | None = None
    in_minutes: float | None = None
    time_zone: str | None = None
    title: str | None = None
    misfire: str | None = None
    quiet_hours: str | None = None
    quiet_action: str | None = None

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> "ScheduleRequest":
        """Return the request of the arguments of a tool call."""
        return cls(**{name: value for name, value in arguments.items() if name in REQUEST_FIELDS and value is not None})

    def to_recurrence(self, now: datetime, settings: SchedulesSettings) -> Recurrence:
        """Return when the task is due. Raises InputError."""
        given = [name for name in ("cron", "every", "at", "in_minutes") if getattr(self, name) not in (None, "")]
        if len(given) != 1:
            raise InputError("give exactly one of cron, every, at and in_minutes")
        zone_name = self.time_zone or settings.time_zone
        zone, now = find_zone(zone_name), now.astimezone(UTC).replace(microsecond=0)
        if self.cron:
            recurrence = Recurrence("cron", check_cron(self.cron), zone_name, now)
        elif self.every:
            recurrence = Recurrence("interval", str(parse_interval(self.every)), zone_name, now)
        else:
            moment = self._find_moment(now, zone)
            if moment <= now:
                raise InputError("that moment is in the past")
            if moment - now > MAX_AHEAD:
                raise InputError(f"that moment is more than {MAX_AHEAD.days} days ahead")
            return Recurrence("once", moment.isoformat(), zone_name, now)
        check_gap(recurrence, now, settings.min_interval)
        return recurrence

    def check_values(self) -> tuple[Misfire | None, str | None, QuietAction | None]:
        """Return misfire policy, quiet hours and quiet action; None for what is not given. Raises InputError."""
        if not self.text.strip() or len(self.text) > MAX_TEXT_CHARACTERS:
            raise InputError(f"the text must have 1 to {MAX_TEXT_CHARACTERS:,} characters")
        misfire = _check_choice("misfire", self.misfire, ("skip", "once", "all"))
        action = _check_choice("quiet_action", self.quiet_action, ("postpone", "skip"))
        hours = None if self.quiet_hours is None else check_quiet_hours(self.quiet_hours)
        return cast(Misfire | None, misfire), hours, cast(QuietAction | None, action)

    def _find_moment(self, now: datetime, zone: tzinfo) -> datetime:
        if self.in_minutes is not None:
            if not 0 < self.in_minutes <= MAX_AHEAD / timedelta(minutes=1):
                raise InputError("in_minutes must be more than 0, and at most ten years")
            return now + timedelta(minutes=self.in_minutes)
        return find_moment(self.at or "", self.day, now, zone)


def parse_interval(text: str) -> int:
    """Return the seconds of `15 minutes`, `every hour` or `daily`. Raises InputError."""
    plain = " ".join(text.split()).lower()
    found = _EVERY.fullmatch(plain)
    seconds = _NAMED.get(plain) or (int(found[1] or 1) * _SECONDS[found[2].lower()] if found else 0)
    if not seconds:
        raise InputError(f"{text!r} is no interval; give it as 15 minutes, 2 hours or daily")
    return seconds


def find_moment(at: str, day: str | None, now: datetime, zone: tzinfo) -> datetime:
    """Return the moment of a time of day, on a day or next, or of a date and time; local unless it has an offset.

    Raises InputError.
    """
    local = now.astimezone(zone).replace(tzinfo=None)
    clock = _CLOCK.fullmatch(at.strip())
    if clock is None:
        return _parse_moment(at, zone)
    wanted = time(int(clock[1]), int(clock[2]))
    if day:
        return to_moment(datetime.combine(_find_day(day, local), wanted), zone)
    today = to_moment(datetime.combine(local, wanted), zone)
    return today if today > now else to_moment(datetime.combine(local + timedelta(days=1), wanted), zone)


def check_gap(recurrence: Recurrence, now: datetime, shortest: timedelta) -> None:
    """Raise InputError for a recurrence that never comes, or comes more often than is allowed."""
    if recurrence.find_next(now) is None:
        raise InputError("that time never comes")
    gap = find_shortest_gap(recurrence, now, COMPARED_TIMES)
    if gap is not None and gap < shortest:
        raise InputError(f"it would run every {gap}; {shortest} is the shortest time between two runs here")


def _parse_moment(at: str, zone: tzinfo) -> datetime:
    try:
        moment = datetime.fromisoformat(at.strip())
        return to_moment(moment, zone) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # a zone can make the first and the last day one of no year
        raise InputError(f"{at!r} is no time; give it as 08:00 or 2026-12-24T18:00") from None


def _find_day(day: str, local: datetime) -> datetime:
    plain = " ".join(day.split()).lower()
    ahead = _IN_DAYS.fullmatch(plain)
    if plain in ("today", "tomorrow") or ahead:
        return local + timedelta(days=int(ahead[1]) if ahead else int(plain == "tomorrow"))
    if plain in _WEEKDAYS:
        return local + timedelta(days=(_WEEKDAYS.index(plain) - local.weekday() - 1) % 7 + 1)
    try:
        return _find_date(plain, local) or datetime.fromisoformat(plain)
    except ValueError:
        raise InputError(f"{day!r} is no day; give today, tomorrow, a weekday, 24 december or 2026-12-24") from None


def _find_date(plain: str, local: datetime) -> datetime | None:
    """Return the next day of a month that is named without a year; None if the text is no such day."""
    found = _DATE.fullmatch(plain)
    if found is None or found[2] not in _MONTHS:
        return None
    month, day = _MONTHS.index(found[2]) + 1, int(found[1])
    year = local.year + ((month, day) < (local.month, local.day))
    return datetime(year, month, day)


def _check_choice(name: str, value: str | None, choices: tuple[str, ...]) -> str | None:
    if value is not None and value.lower() not in choices:
        raise InputError(f"{name} {value!r} is none of {', '.join(choices)}")
    return None if value is None else value.lower()
