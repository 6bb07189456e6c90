"""Quiet hours, misfires and words."""

from datetime import UTC, datetime, timedelta

import pytest

from sophon.errors import InputError
from sophon_hosting.features.schedules.misfires import choose_firings
from sophon_hosting.features.schedules.occurrences import Recurrence
from sophon_hosting.features.schedules.quiet_hours import check_quiet_hours, find_quiet_end
from sophon_hosting.features.schedules.schedule import Misfire
from sophon_hosting.features.schedules.schedule_text import describe_next, describe_recurrence

T0 = datetime(2026, 11, 23, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("window", "at", "end"),
    [
        ("22:00-07:00", "2026-11-23T23:00", "2026-11-24T07:00"),
        ("22:00-07:00", "2026-11-23T06:59", "2026-11-23T07:00"),
        ("22:00-07:00", "2026-11-23T07:00", None),
        ("12:00-13:00", "2026-11-23T12:00", "2026-11-23T13:00"),
        ("12:00-13:00", "2026-11-23T13:00", None),
        ("", "2026-11-23T12:00", None),
        ("none", "2026-11-23T12:00", None),
    ],
)
def test_quiet_hours_end_on_the_right_day(window: str, at: str, end: str | None):
    found = find_quiet_end(window, "UTC", datetime.fromisoformat(at).replace(tzinfo=UTC))
    assert found == (datetime.fromisoformat(end).replace(tzinfo=UTC) if end else None)


def test_quiet_hours_that_end_in_a_gap_end_after_it():
    late = datetime(2026, 3, 28, 23, tzinfo=UTC)  # 00:00 in Vienna; clocks go from 02:00 to 03:00
    assert find_quiet_end("22:00-02:30", "Europe/Vienna", late) == datetime(2026, 3, 29, 1, tzinfo=UTC)


@pytest.mark.parametrize("window", ["22-7", "25:00-07:00", "07:00-07:00", "22:00"])
def test_what_are_no_quiet_hours_is_refused(window: str):
    with pytest.raises(InputError, match="22:00-07:00"):
        check_quiet_hours(window)


DAY_OF_HOURS = [T0 - n * HOUR for n in range(24, -1, -1)]


@pytest.mark.parametrize(
    ("misfire", "times", "now", "fired", "missed"),
    [
        ("once", [T0], T0, 1, 0),
        ("skip", [T0], T0, 1, 0),
        ("all", [T0], T0, 1, 0),
        ("once", DAY_OF_HOURS, T0 + HOUR / 2, 1, 24),
        ("skip", DAY_OF_HOURS, T0 + HOUR / 2, 0, 25),
        ("skip", DAY_OF_HOURS, T0 + timedelta(seconds=30), 1, 24),
        ("all", DAY_OF_HOURS, T0 + HOUR / 2, 10, 15),
        ("all", DAY_OF_HOURS[-3:], T0 + HOUR / 2, 3, 0),
    ],
)
def test_after_a_day_down_the_policy_says_what_is_fired(
    misfire: Misfire, times: list[datetime], now: datetime, fired: int, missed: int
):
    chosen = choose_firings(times, now, misfire, 10, times[0])
    assert (len(chosen.fired), len(chosen.missed)) == (fired, missed)
    assert [*chosen.missed, *chosen.fired] == times


def test_what_was_postponed_is_on_time_when_its_time_to_wake_comes():
    assert choose_firings([T0], T0 + 8 * HOUR, "skip", 10, T0 + 8 * HOUR).fired == [T0]


@pytest.mark.parametrize(
    ("kind", "expression", "words"),
    [
        ("cron", "0 8 * * *", "every day at 08:00 (Europe/Vienna)"),
        ("cron", "30 17 * * 1-5", "Monday to Friday at 17:30 (Europe/Vienna)"),
        ("cron", "0 9 * * 0", "every Sunday at 09:00 (Europe/Vienna)"),
        ("cron", "0 9 * * mon", "every Monday at 09:00 (Europe/Vienna)"),
        ("cron", "0 9 1 * *", "on day 1 of every month at 09:00 (Europe/Vienna)"),
        ("cron", "*/5 8-9 * * *", "by the cron fields */5 8-9 * * * (Europe/Vienna)"),
        ("interval", "900", "every 15 minutes"),
        ("interval", "3600", "every hour"),
        ("interval", "604800", "every week"),
        ("once", "2026-11-24T07:00:00+00:00", "once on Tue 24 Nov 2026, 08:00 (Europe/Vienna)"),
    ],
)
def test_schedules_are_said_in_words(kind: str, expression: str, words: str):
    assert describe_recurrence(Recurrence(kind, expression, "Europe/Vienna", T0)) == words  # type: ignore[arg-type]


def test_the_next_times_are_a_sentence():
    assert describe_next([T0, T0 + 24 * HOUR], "UTC") == "Next: Mon 23 Nov 2026, 12:00; Tue 24 Nov 2026, 12:00 (UTC)."
    assert describe_next([], "UTC") == "It will not run any more."
