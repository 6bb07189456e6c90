"""The times of schedules, where clocks go forward and back, and over long times."""

import time
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import InputError
from sophon_hosting.features.schedules.occurrences import (
    Recurrence,
    check_cron,
    find_shortest_gap,
    find_zone,
    to_moment,
)

VIENNA = "Europe/Vienna"
T0 = datetime(2026, 11, 23, 12, tzinfo=UTC)


def local(text: str, zone: str = VIENNA, fold: int = 0) -> datetime:
    # In UTC: a time that exists twice equals no time of another zone.
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC)


def cron(fields: str, zone: str = VIENNA) -> Recurrence:
    return Recurrence("cron", fields, zone, T0)


# Vienna: clocks go forward on 29 March 2026 at 02:00, and back on 25 October 2026 at 03:00.
@pytest.mark.parametrize(
    ("fields", "after", "expected"),
    [
        ("0 8 * * *", "2026-03-28T09:00", ["2026-03-29T08:00", "2026-03-30T08:00"]),
        ("30 2 * * *", "2026-03-28T02:30", ["2026-03-29T03:00", "2026-03-30T02:30"]),
        ("30 2,3 * * *", "2026-03-29T00:00", ["2026-03-29T03:00", "2026-03-29T03:30", "2026-03-30T02:30"]),
        ("0,30 2 * * *", "2026-03-29T00:00", ["2026-03-29T03:00", "2026-03-30T02:00", "2026-03-30T02:30"]),
        ("*/30 * * * *", "2026-03-29T01:30", ["2026-03-29T03:00", "2026-03-29T03:30"]),
        ("30 2 * * *", "2026-10-25T00:00", ["2026-10-25T02:30", "2026-10-26T02:30"]),
        ("0 8 * * *", "2026-10-24T08:00", ["2026-10-25T08:00", "2026-10-26T08:00"]),
        ("0 0 29 2 *", "2026-01-01T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("0 9 * * MON-FRI", "2026-11-20T09:00", ["2026-11-23T09:00", "2026-11-24T09:00"]),
    ],
)
def test_cron_follows_the_clocks_of_its_zone(fields: str, after: str, expected: list[str]):
    found = [*islice(cron(fields).list_after(local(after)), len(expected))]
    assert found == [local(each) for each in expected]


def test_a_time_that_exists_twice_is_fired_once_also_when_the_search_begins_between_the_two():
    between = local("2026-10-25T02:10", fold=1)
    assert cron("30 2 * * *").find_next(between) == local("2026-10-26T02:30")


def test_fields_with_a_star_are_counted_in_real_time_in_the_hour_that_exists_twice():
    found = [*islice(cron("*/30 * * * *").list_after(local("2026-10-25T01:45")), 5)]
    assert [each - found[0] for each in found] == [n * timedelta(minutes=30) for n in range(5)]
    assert found[2] == local("2026-10-25T02:00", fold=1)


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-03-29T02:30", VIENNA, "2026-03-29T01:00Z"),
        ("2026-10-25T02:30", VIENNA, "2026-10-25T00:30Z"),
        ("2026-10-04T02:10", "Australia/Lord_Howe", "2026-10-03T15:30Z"),  # a gap of half an hour
        ("2026-11-23T08:00", "UTC", "2026-11-23T08:00Z"),
    ],
)
def test_a_local_time_in_a_gap_is_the_first_moment_after_it(text: str, zone: str, expected: str):
    assert to_moment(datetime.fromisoformat(text), find_zone(zone)) == datetime.fromisoformat(expected)


def test_an_interval_is_counted_from_its_begin_in_real_time():
    recurrence = Recurrence("interval", "900", VIENNA, T0)
    assert recurrence.find_next(T0) == T0 + timedelta(minutes=15)
    assert recurrence.find_next(T0 + timedelta(minutes=15)) == T0 + timedelta(minutes=30)
    assert recurrence.find_next(T0 - timedelta(days=1)) == T0 + timedelta(minutes=15)


def test_one_shot_has_one_time():
    once = Recurrence("once", "2026-11-24T08:00:00+00:00", VIENNA, T0)
    assert [*once.list_after(T0)] == [datetime(2026, 11, 24, 8, tzinfo=UTC)]
    assert once.find_next(T0 + timedelta(days=1)) is None


def test_the_newest_times_of_ten_years_are_found_without_counting_all():
    began = time.perf_counter()
    found = cron("* * * * *").list_newest(T0 - timedelta(days=3650), T0, 5)
    assert found == [T0 - n * timedelta(minutes=1) for n in (4, 3, 2, 1, 0)]
    assert time.perf_counter() - began < 0.5


def test_both_ends_belong_to_the_newest_times():
    found = cron("0 * * * *").list_newest(T0 - timedelta(hours=2), T0, 10)
    assert found == [T0 - timedelta(hours=2), T0 - timedelta(hours=1), T0]


@pytest.mark.parametrize(
    "fields", ["* * * *", "0 8 * * * *", "61 * * * *", "0 25 * * *", "x * * * *", "", "0 0 30 2 *"]
)
def test_what_are_no_cron_fields_is_refused(fields: str):
    with pytest.raises(InputError, match="cron"):
        check_cron(fields)


def test_an_unknown_zone_is_refused():
    with pytest.raises(InputError, match="no time zone"):
        find_zone("Mars/Olympus")


def test_the_shortest_gap_is_that_of_neighbours():
    assert find_shortest_gap(cron("0,5 8 * * *"), T0, 20) == timedelta(minutes=5)


FIELD_SETS = st.tuples(
    st.sampled_from(["0", "30", "*/15", "5,45", "*"]),
    st.sampled_from(["2", "*", "0", "1-3", "*/2", "23"]),
    st.sampled_from(["*", "29", "25", "L"]),
    st.sampled_from(["*", "3", "10"]),
    st.sampled_from(["*", "SUN", "1-5"]),
)
ZONES = st.sampled_from([VIENNA, "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "UTC", "Asia/Kolkata"])
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))


@given(FIELD_SETS, ZONES, MOMENTS)
def test_times_increase_and_do_not_depend_on_where_the_search_begins(
    fields: tuple[str, ...], zone: str, moment: datetime
):
    recurrence = cron(" ".join(fields), zone)
    found = [*islice(recurrence.list_after(moment), 6)]
    assert all(later > earlier for earlier, later in pairwise([moment, *found]))
    for earlier, later in pairwise(found):
        assert recurrence.find_next(earlier) == later
        assert recurrence.find_next(later - timedelta(seconds=1)) == later


@given(st.sampled_from(["0", "7", "30", "59"]), st.integers(0, 23), ZONES, MOMENTS)
def test_a_daily_time_is_fired_once_on_every_day(minute: str, hour: int, zone: str, moment: datetime):
    found = [*islice(cron(f"{minute} {hour} * * *", zone).list_after(moment), 10)]
    days = [each.astimezone(find_zone(zone)).date() for each in found]
    assert days == [days[0] + timedelta(days=n) for n in range(10)]
    for each in found:
        at = each.astimezone(find_zone(zone))
        wanted = at.replace(hour=hour, minute=int(minute), tzinfo=None)
        assert at.replace(tzinfo=None) == wanted or each == to_moment(wanted, find_zone(zone))
