from datetime import UTC, datetime

from sophon.models.gateway.retry_after import MAX_RETRY_AFTER_SECONDS, parse_retry_after
from tests.tables import table

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@table(
    ("value", "seconds"),
    [
        ("0", 0),
        (-3, 0),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0),
        ("Thu, 01 Jan 2026 01:00:00 GMT", 3600),
        ("soon", None),
        ("", None),
        (None, None),
        *((odd, None) for odd in ("inf", "nan", "1_0", "٣", True, float("inf"), float("nan"), 10**400, "9" * 400)),
        *((long, MAX_RETRY_AFTER_SECONDS) for long in ("1e308", 10**18, "Fri, 31 Dec 9999 23:59:59 GMT")),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: object, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


def test_a_date_without_a_clock_is_ignored() -> None:
    assert parse_retry_after("Thu, 01 Jan 2026 01:00:00 GMT") is None
