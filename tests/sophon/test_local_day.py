from datetime import UTC, datetime

from sophon.local_day import find_start_of_day
from tests.tables import table


@table(
    ("now", "zone", "expected"),
    [
        ("2026-11-23T00:00:00", "UTC", "2026-11-23T00:00:00"),
        ("2026-11-23T22:59:59", "Europe/Berlin", "2026-11-22T23:00:00"),
        ("2026-11-23T23:00:00", "Europe/Berlin", "2026-11-23T23:00:00"),
        ("2026-10-25T22:30:00", "Europe/Berlin", "2026-10-24T22:00:00"),  # a day of 25 hours
        ("2026-11-01T05:30:00", "America/Havana", "2026-11-01T04:00:00"),  # the second 00:30 of that night
    ],
)
def test_a_day_begins_at_the_midnight_of_the_time_zone(now: str, zone: str, expected: str):
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert find_start_of_day(moment, zone).replace(tzinfo=None).isoformat() == expected
