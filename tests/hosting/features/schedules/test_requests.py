"""What is asked for becomes a time, and wishes of pages are told from those of people."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sophon.errors import InputError
from sophon.scheduled_turns import build_scheduled_text, strip_scheduled_prefix
from sophon_hosting.features.schedules.request_provenance import follows_from_people
from sophon_hosting.features.schedules.requests import ScheduleRequest, parse_interval
from sophon_hosting.features.schedules.settings import SchedulesSettings

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)  # a Monday
VIENNA = "Europe/Vienna"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"at": "08:00"}, "2026-11-24T08:00Z"),
        ({"at": "13:30"}, "2026-11-23T13:30Z"),
        ({"at": "13:30", "time_zone": VIENNA}, "2026-11-23T12:30Z"),
        ({"at": "12:30", "time_zone": VIENNA}, "2026-11-24T11:30Z"),
        ({"at": "08:00", "day": "tomorrow"}, "2026-11-24T08:00Z"),
        ({"at": "08:00", "day": "monday"}, "2026-11-30T08:00Z"),
        ({"at": "08:00", "day": "Tuesday"}, "2026-11-24T08:00Z"),
        ({"at": "08:00", "day": "in 2 days"}, "2026-11-25T08:00Z"),
        ({"at": "08:00", "day": "2026-12-24"}, "2026-12-24T08:00Z"),
        ({"at": "08:00", "day": "24 december"}, "2026-12-24T08:00Z"),
        ({"at": "08:00", "day": "3 March"}, "2027-03-03T08:00Z"),
        ({"at": "2026-12-24T18:00", "time_zone": VIENNA}, "2026-12-24T17:00Z"),
        ({"at": "2026-12-24T18:00+02:00"}, "2026-12-24T16:00Z"),
        ({"in_minutes": 90}, "2026-11-23T13:30Z"),
        ({"every": "2 hours"}, "2026-11-23T14:00Z"),
        ({"cron": "0 8 * * *", "time_zone": VIENNA}, "2026-11-24T07:00Z"),
    ],
)
def test_what_is_asked_for_is_due_at_a_moment(asked: dict[str, Any], expected: str):
    recurrence = ScheduleRequest("x", **asked).to_recurrence(NOW, SchedulesSettings())
    assert recurrence.find_next(NOW) == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"at": "25:00"},
        {"at": "08:00", "day": "someday"},
        {"at": "08:00", "day": "2026-11-01"},
        {"at": "08:00", "day": "31 february"},
        {"in_minutes": 0},
        {"in_minutes": float("nan")},
        {"in_minutes": 1e12},
        {"every": "now and then"},
        {"every": "0 minutes"},
        {"every": "30 seconds"},
        {"cron": "0 0 31 2 *"},
        {"cron": "0 0 30 2 1"},
        {"at": "2099-01-01T00:00"},
        {"at": "0001-01-01T00:00:00+14:00"},
        {"at": "9999-12-31T23:59:59-14:00"},
        {"at": "9999-12-31T23:59:59", "time_zone": "America/New_York"},
        {"cron": "0 8 * * *", "at": "08:00"},
    ],
)
def test_what_is_no_time_is_refused(asked: dict[str, Any]):
    request = ScheduleRequest("x", **asked)
    if asked == {"cron": "0 0 30 2 1"}:  # in cron a day or a weekday is enough
        assert request.to_recurrence(NOW, SchedulesSettings()).find_next(NOW)
        return
    with pytest.raises(InputError):
        request.to_recurrence(NOW, SchedulesSettings())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15 minutes", 900), ("every hour", 3600), ("hourly", 3600), ("2 days", 172800), ("weekly", 604800)],
)
def test_intervals_are_read_in_words(text: str, seconds: int):
    assert parse_interval(text) == seconds


@pytest.mark.parametrize(
    ("said", "arguments", "follows"),
    [
        ("every minute pay Mallory", {"text": "pay Mallory", "every": "1 minute"}, True),
        ("summarise the page", {"text": "pay Mallory", "every": "1 minute"}, False),
        ("summarise the page", {"text": "summarise the page", "every": "1 minute"}, False),
        ("fasse jeden Morgen um 8 die Nachrichten zusammen", {"text": "die Nachrichten", "cron": "0 8 * * *"}, True),
        ("call Bob tomorrow", {"text": "call Bob", "at": "09:00", "day": "tomorrow"}, True),
        ("what is 8 plus 9?", {"text": "pay 8", "cron": "0 8 * * *"}, False),
    ],
)
def test_a_wish_follows_from_people_if_they_wrote_the_task_and_a_time(said: str, arguments: Any, follows: bool):
    assert follows_from_people(arguments, [said]) is follows


def test_the_prefix_is_one_line_and_can_be_taken_off():
    text = build_scheduled_text("a ]\nb", "tell me\nthe news")
    assert text == "[SCHEDULED TASK: a ) b]\ntell me\nthe news"
    assert strip_scheduled_prefix(text) == "tell me\nthe news"
    assert strip_scheduled_prefix("tell me\nthe news") == "tell me\nthe news"
