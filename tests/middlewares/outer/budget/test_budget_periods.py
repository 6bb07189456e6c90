"""To which day and month something is charged, and when they end."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from sophon.stores.usage.contract import Period
from sophon_middlewares.outer.budget.budget_periods import budget_period, end_of_day, end_of_month
from tests.tables import table


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@table(
    ("now", "zone", "day", "month"),
    [
        ("2026-01-31T23:59:59", "UTC", "2026-01-31", "2026-01"),
        ("2026-01-31T23:59:59", "Europe/Berlin", "2026-02-01", "2026-02"),
        ("2026-01-01T04:00:00", "America/New_York", "2025-12-31", "2025-12"),
        ("2026-12-31T20:00:00", "Asia/Kolkata", "2027-01-01", "2027-01"),
        ("2024-02-29T12:00:00", "Pacific/Auckland", "2024-03-01", "2024-03"),
        ("2026-06-15T10:30:00", "Pacific/Kiritimati", "2026-06-16", "2026-06"),
    ],
)
def test_a_moment_belongs_to_the_day_and_month_of_the_time_zone(now: str, zone: str, day: str, month: str) -> None:
    assert budget_period(utc(now), zone) == Period(day, month)


@table(
    ("now", "zone", "ends"),
    [
        ("2026-01-01T00:00:00", "UTC", "2026-01-02T00:00:00"),
        ("2026-02-28T22:00:00", "UTC", "2026-03-01T00:00:00"),
        ("2026-12-31T12:00:00", "UTC", "2027-01-01T00:00:00"),
        ("2026-01-31T23:30:00", "Europe/Berlin", "2026-02-01T23:00:00"),
        ("2026-03-28T23:30:00", "Europe/Berlin", "2026-03-29T22:00:00"),  # a day of 23 hours
        ("2026-10-24T22:30:00", "Europe/Berlin", "2026-10-25T23:00:00"),  # a day of 25 hours
        ("2026-01-01T12:00:00", "America/New_York", "2026-01-02T05:00:00"),
        ("2026-04-23T12:00:00", "Africa/Cairo", "2026-04-23T22:00:00"),  # midnight does not exist on the 24th
    ],
)
def test_a_day_ends_at_the_next_midnight_of_the_time_zone(now: str, zone: str, ends: str) -> None:
    assert end_of_day(utc(now), zone) == utc(ends)


@table(
    ("now", "zone", "ends"),
    [
        ("2026-01-15T00:00:00", "UTC", "2026-02-01T00:00:00"),
        ("2026-12-31T23:59:59", "UTC", "2027-01-01T00:00:00"),
        ("2026-01-31T23:30:00", "Europe/Berlin", "2026-02-28T23:00:00"),
        ("2026-03-01T12:00:00", "Europe/Berlin", "2026-03-31T22:00:00"),  # summer time begins in between
        ("2024-02-10T12:00:00", "America/New_York", "2024-03-01T05:00:00"),
    ],
)
def test_a_month_ends_at_the_first_midnight_of_the_next(now: str, zone: str, ends: str) -> None:
    assert end_of_month(utc(now), zone) == utc(ends)


@table("zone", ["UTC", "Europe/Berlin", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe"])
def test_what_is_charged_at_the_end_of_a_day_is_charged_to_another_one(zone: str) -> None:
    moment = utc("2026-01-01T12:00:00")
    for _ in range(400):
        end = end_of_day(moment, zone)
        assert end > moment
        assert budget_period(end, zone).day > budget_period(moment, zone).day
        moment = end


@given(
    st.datetimes(datetime(1980, 1, 1), datetime(2037, 1, 1)),
    st.lists(st.integers(-4000, 4000), max_size=6),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "America/Havana", "UTC"]),
)
@example(datetime(2006, 10, 29, 2, 30), [0, 30, 90, 200, 1900, 3700], "America/St_Johns")
def test_a_period_does_not_depend_on_what_was_asked_before(moment: datetime, steps: list[int], zone: str) -> None:
    now = moment.replace(tzinfo=UTC)
    for step in [0, *steps]:
        now += timedelta(seconds=step)
        local = now.astimezone(ZoneInfo(zone))
        assert budget_period(now, zone) == Period(f"{local:%Y-%m-%d}", f"{local:%Y-%m}")
