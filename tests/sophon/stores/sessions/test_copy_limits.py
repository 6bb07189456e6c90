"""Bounds on the copies of one person's conversations."""

from sophon.stores.sessions.contract import SessionTotals
from sophon.stores.sessions.copy_limits import MAX_RECORDS, MAX_SESSIONS, find_excess
from tests.tables import table


@table(
    ("totals", "records", "problem"),
    [
        (SessionTotals(0, 0), 0, None),
        (SessionTotals(MAX_SESSIONS - 1, 0), 100, None),
        (SessionTotals(MAX_SESSIONS, 0), 0, "there are 10,000 conversations"),
        (SessionTotals(1, MAX_RECORDS - 10), 10, None),
        (SessionTotals(1, MAX_RECORDS - 10), 11, "more than 1,000,000 messages"),
    ],
)
def test_a_copy_needs_room_for_itself_and_its_records(totals: SessionTotals, records: int, problem: str | None) -> None:
    found = find_excess(totals, records)
    assert (found is None) if problem is None else (found is not None and problem in found)
