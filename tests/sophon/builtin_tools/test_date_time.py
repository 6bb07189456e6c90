"""The date and the time of day."""

from datetime import datetime

import pytest

from sophon import Context, Services, ToolRegistry
from sophon.builtin_tools import builtin_tools
from sophon.builtin_tools.date_time import CITIES_BY_ZONE, datetime_now, find_time_zone
from sophon.errors import ToolError
from sophon.testing import VirtualClock
from tests.tables import table

NOON = 12 * 3600


async def test_the_time_is_the_turns_own_and_in_utc(ctx: Context) -> None:
    assert await datetime_now.invoke({}, ctx) == "2026-01-01T00:00:00+00:00 (Thursday)"


@pytest.mark.parametrize(
    ("zone_name", "expected"),
    [
        ("utc", "2026-01-01T00:00:00+00:00 (Thursday)"),
        ("Europe/Berlin", "2026-01-01T01:00:00+01:00 (Thursday)"),
        ("europe/berlin", "2026-01-01T01:00:00+01:00 (Thursday)"),
        (" Berlin ", "2026-01-01T01:00:00+01:00 (Thursday)"),
        ("new york", "2025-12-31T19:00:00-05:00 (Wednesday)"),
        ("New_York", "2025-12-31T19:00:00-05:00 (Wednesday)"),
        ("San Francisco", "2025-12-31T16:00:00-08:00 (Wednesday)"),
        ("MÜNCHEN", "2026-01-01T01:00:00+01:00 (Thursday)"),
        ("Delhi", "2026-01-01T05:30:00+05:30 (Thursday)"),
        ("UTC+2", "2026-01-01T02:00:00+02:00 (Thursday)"),
        ("GMT-03:30", "2025-12-31T20:30:00-03:30 (Wednesday)"),
        ("+0545", "2026-01-01T05:45:00+05:45 (Thursday)"),
        ("Istanbul", "2026-01-01T03:00:00+03:00 (Thursday)"),
        ("singapore", "2026-01-01T08:00:00+08:00 (Thursday)"),
    ],
)
async def test_a_zone_has_many_names(ctx: Context, zone_name: str, expected: str) -> None:
    assert await datetime_now.invoke({"timezone": zone_name}, ctx) == expected


async def test_summer_time_is_known() -> None:
    clock = VirtualClock(auto=False)
    ctx = Services(clock=clock).turn("Hello")
    await clock.advance(181 * 86400 + NOON)
    assert await datetime_now.invoke({"timezone": "Berlin"}, ctx) == "2026-07-01T14:00:00+02:00 (Wednesday)"


@table(
    ("wrong", "hint"),
    [
        ("Berlni", "Europe/Berlin"),
        ("Europe/Pariss", "Europe/Paris"),
        ("Xyzzy", "give an IANA name"),
        ("", "give an IANA name"),
        ("../../etc/passwd", "give an IANA name"),
        ("UTC+15", "14 hours"),
        ("UTC+99:99", "IANA"),
    ],
)
def test_an_unknown_zone_gets_near_names(wrong: str, hint: str) -> None:
    with pytest.raises(ToolError, match=hint):
        find_time_zone(wrong)


def test_every_city_of_the_table_has_its_zone() -> None:
    days = [datetime(2026, month, 1) for month in (1, 7)]
    for name, cities in CITIES_BY_ZONE.items():
        for city in cities:
            assert [find_time_zone(city).utcoffset(day) for day in days] == [
                find_time_zone(name).utcoffset(day) for day in days
            ]


@table("question", ["What time is it?", "what day is today", "date please"])
def test_questions_about_time_find_the_tool(question: str) -> None:
    scores = ToolRegistry(builtin_tools()).relevance.score_tools(question)
    assert max(scores, key=scores.__getitem__) == "datetime.now"
