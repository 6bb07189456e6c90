"""When an entry that may have arrived is given up."""

from datetime import UTC, datetime, timedelta

import pytest

from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.outbound.retry_rules import (
    MAX_AMBIGUOUS_ATTEMPTS,
    MAX_DOUBTFUL_SENDS,
    MAX_ENTRY_AGE,
    is_exhausted,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)
MOMENT = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("attempts", "interruptions", "age", "is_over"),
    [
        (0, 0, MAX_ENTRY_AGE + MOMENT, False),  # an operator put it back
        (MAX_AMBIGUOUS_ATTEMPTS - 1, 0, MOMENT, False),
        (MAX_AMBIGUOUS_ATTEMPTS, 0, MOMENT, True),
        (1, 0, MAX_ENTRY_AGE + MOMENT, True),
        (MAX_AMBIGUOUS_ATTEMPTS - 1, 2, MOMENT, False),
        (0, MAX_DOUBTFUL_SENDS - 1, MOMENT, False),
        (0, MAX_DOUBTFUL_SENDS, MOMENT, True),
        (1, MAX_DOUBTFUL_SENDS - 1, MOMENT, True),
        (0, 1, MAX_ENTRY_AGE + MOMENT, True),
    ],
)
def test_kills_use_up_fewer_sends_than_lost_answers(
    attempts: int, interruptions: int, age: timedelta, is_over: bool
) -> None:
    counts = {"attempts": attempts, "interruptions": interruptions}
    entry = OutboundEntry("e", None, "telegram", "1", "5", "answer", doubtful=True, created_at=NOW - age, **counts)
    assert is_exhausted(entry, NOW) == is_over
