"""Built-in tool `datetime.now`: date, time and weekday in any time zone, and lookup of time zones by name."""

import re
from datetime import timedelta, timezone, tzinfo
from functools import cache

from sophon._python.lazy_pattern import lazy_pattern
from sophon.context import Context
from sophon.errors import ToolError
from sophon.tools.tool import Risk, tool

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Large cities without an entry of their own in the IANA database, by zone.
CITIES_BY_ZONE = {
    "Asia/Calcutta": ("Bangalore", "Bengaluru", "Chennai", "Delhi", "Hyderabad", "Mumbai", "New Delhi"),
    "Asia/Shanghai": ("Beijing", "Guangzhou", "Shenzhen"),
    "Asia/Tokyo": ("Kyoto", "Osaka"),
    "Asia/Dubai": ("Abu Dhabi",),
    "Asia/Karachi": ("Islamabad", "Lahore"),
    "Asia/Ho_Chi_Minh": ("Hanoi",),
    "Africa/Johannesburg": ("Cape Town", "Durban"),
    "America/Los_Angeles": ("Las Vegas", "Portland", "San Diego", "San Francisco", "Seattle"),
    "America/New_York": ("Atlanta", "Boston", "Miami", "Philadelphia", "Washington"),
    "America/Chicago": ("Austin", "Dallas", "Houston", "Minneapolis"),
    "America/Toronto": ("Ottawa", "Quebec"),
    "America/Sao_Paulo": ("Brasilia", "Rio de Janeiro"),
    "Europe/Berlin": ("Cologne", "Frankfurt", "Hamburg", "Köln", "Leipzig", "Munich", "München", "Stuttgart"),
    "Europe/Rome": ("Florence", "Milan", "Naples", "Turin", "Venice"),
    "Europe/Madrid": ("Barcelona", "Seville", "Valencia"),
    "Europe/Paris": ("Lyon", "Marseille", "Nice", "Toulouse"),
    "Europe/Zurich": ("Basel", "Bern", "Geneva"),
    "Europe/London": ("Birmingham", "Cardiff", "Edinburgh", "Glasgow", "Liverpool", "Manchester"),
    "Europe/Moscow": ("Saint Petersburg",),
    "Europe/Warsaw": ("Gdansk", "Krakow"),
}

_OFFSET = lazy_pattern(r"(?:utc|gmt)?\s*([+-])(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE)
_NON_CITY_PREFIXES = ("Etc/", "posix/", "right/", "SystemV/")


@tool(
    deferred=True,
    name="datetime.now",
    risk=Risk.NONE,
    group="time",
    tags=("time", "date", "today", "now", "clock", "day", "weekday", "timezone", "datetime", "hour"),
)
async def datetime_now(ctx: Context, timezone: str = "UTC") -> str:
    """Return the current date, the time of day and the weekday, in UTC or any time zone.

    Args:
        timezone: An IANA name such as Europe/Berlin, a large city, or an offset such as UTC+02:00.
    """
    clock = ctx.services.clock
    now = clock.now()
    if timezone.strip().upper() != "UTC":
        # The first use of a zone reads it from disk.
        now = now.astimezone(await clock.run_in_thread(lambda: find_time_zone(timezone)))
    return f"{now.isoformat(timespec='seconds')} ({WEEKDAYS[now.weekday()]})"


def find_time_zone(name: str) -> tzinfo:
    """Return the time zone of an IANA name, a city or an offset, ignoring case; raises ToolError with similar names."""
    import difflib
    from zoneinfo import ZoneInfo  # lazy: most turns need UTC only

    offset = _OFFSET.fullmatch(name.strip())
    if offset:
        return _build_fixed_offset(name, offset)
    wanted = _normalize_name(name)
    known = _index_zones()
    if wanted not in known:
        near = dict.fromkeys(known[each] for each in difflib.get_close_matches(wanted, known, n=3, cutoff=0.6))
        hint = f"did you mean {' or '.join(near)}?" if near else "give an IANA name such as Europe/Berlin"
        raise ToolError(f"there is no time zone {name!r}; {hint}")
    return ZoneInfo(known[wanted])


def _build_fixed_offset(name: str, offset: re.Match[str]) -> tzinfo:
    minutes = int(offset[2]) * 60 + int(offset[3] or 0)
    if minutes > 14 * 60:
        raise ToolError(f"{name!r} is not a time zone: the largest offset is 14 hours")
    return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))


@cache
def _index_zones() -> dict[str, str]:
    """Map full names, last components and cities, normalised, to IANA names; the shorter name wins."""
    from zoneinfo import available_timezones

    names = sorted(available_timezones(), key=lambda each: (each.count("/"), each))
    zones = {_normalize_name(name): name for name in names}
    for name in names:
        if not name.startswith(_NON_CITY_PREFIXES):
            zones.setdefault(_normalize_name(name.rpartition("/")[2]), name)
    for name, cities in CITIES_BY_ZONE.items():
        for city in cities:
            zones.setdefault(_normalize_name(city), name)
    return zones


def _normalize_name(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name.strip()).casefold()
