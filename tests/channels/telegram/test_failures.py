"""What a failed call is for the ledger."""

from datetime import timedelta

import pytest

from sophon_channels.backoff import backoff
from sophon_channels.contract import Doubtful, Migrated, Receipt, Refused, Undeliverable
from sophon_channels.telegram.failures import EDIT, Failure, receipt


def failure(status: int | None, problem: str = "no", *, went_out: bool = True, **facts: int) -> Failure:
    made = Failure("sendMessage", problem, status=status, went_out=went_out)
    made.retry_after, made.migrate_to = facts.get("retry_after"), facts.get("migrate_to")
    return made


def seconds(number: int) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        (failure(429, retry_after=17), Refused("sendMessage: 429: no", seconds(17))),
        (failure(400, migrate_to=-1009), Migrated("-1009/7")),
        (failure(403), Undeliverable("sendMessage: 403: no", chat_is_gone=True)),
        (failure(400, "Chat not found"), Undeliverable("sendMessage: 400: Chat not found", chat_is_gone=True)),
        (failure(400), Undeliverable("sendMessage: 400: no")),
        (failure(401), Refused("sendMessage: 401: no", seconds(3600), everywhere=True)),
        (failure(500), Refused("sendMessage: 500: no", seconds(2))),
        (failure(None), Doubtful("sendMessage: no")),
        (failure(None, went_out=False), Refused("sendMessage: no", seconds(2))),
        (Failure(EDIT, "no"), Refused("editMessageText: no", seconds(2))),
    ],
)
def test_each_failure_has_its_consequence(failed: Failure, expected: Receipt) -> None:
    assert receipt(failed, 2, "7") == expected


def test_pauses_grow_and_have_an_end() -> None:
    pauses = [backoff(attempts).total_seconds() for attempts in (0, 1, 2, 5, 9, 10, 10**9)]
    assert pauses == [
        1,
        1,
        2,
        16,
        256,
        300,
        300,
    ]
