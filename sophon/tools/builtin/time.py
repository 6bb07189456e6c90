"""The date and the time of day, anywhere."""

import difflib
import re
from datetime import timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from sophon.context import Context
from sophon.errors import ToolError
from sophon.tools.tool import Risk, tool

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Large cities that share the zone of another one and so have no entry in the IANA database.
CITIES = {
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

_OFFSET = re.compile(r"(?:utc|gmt)?\s*([+-])(\d{1,2})(?::?([0-5]\d))?", re.IGNORECASE)
_NOT_CITIES = ("Etc/", "posix/", "right/", "SystemV/")


@tool(
    name="datetime.now",
    risk=Risk.NONE,
    group="time",
    tags=("time", "date", "today", "now", "clock", "day", "weekday", "timezone", "datetime", "hour"),
)
async def datetime_now(ctx: Context, timezone: str = "UTC") -> str:
    """Tell the current date, the time of day and the weekday, in UTC or anywhere else.

    Args:
        timezone: An IANA name such as Europe/Berlin, a large city, or an offset such as UTC+02:00.
    """
    clock = ctx.services.clock
    now = clock.now()
    if timezone.strip().upper() != "UTC":
        # A zone is read from disk when it is first asked for.
        now = now.astimezone(await clock.in_thread(lambda: zone(timezone)))
    return f"{now.isoformat(timespec='seconds')} ({DAYS[now.weekday()]})"


def zone(name: str) -> tzinfo:
    """The time zone of an IANA name, a city or an offset, in any case; raises ToolError with near names."""
    offset = _OFFSET.fullmatch(name.strip())
    if offset:
        return _fixed(name, offset)
    wanted = _plain(name)
    known = _zones()
    if wanted not in known:
        near = dict.fromkeys(known[each] for each in difflib.get_close_matches(wanted, known, n=3, cutoff=0.6))
        hint = f"did you mean {' or '.join(near)}?" if near else "give an IANA name such as Europe/Berlin"
        raise ToolError(f"there is no time zone {name!r}; {hint}")
    return ZoneInfo(known[wanted])


def _fixed(name: str, offset: re.Match[str]) -> tzinfo:
    minutes = int(offset[2]) * 60 + int(offset[3] or 0)
    if minutes > 14 * 60:
        raise ToolError(f"{name!r} is no time zone: no offset is larger than 14 hours")
    return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes))


@cache
def _zones() -> dict[str, str]:
    """Whole names, last parts and cities, all as `_plain` gives them, to IANA names; the shorter name wins."""
    names = sorted(available_timezones(), key=lambda each: (each.count("/"), each))
    zones = {_plain(name): name for name in names}
    for name in names:
        if not name.startswith(_NOT_CITIES):
            zones.setdefault(_plain(name.rpartition("/")[2]), name)
    for name, cities in CITIES.items():
        for city in cities:
            zones.setdefault(_plain(city), name)
    return zones


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name.strip()).casefold()
