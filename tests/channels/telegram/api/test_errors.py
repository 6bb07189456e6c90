"""What a failed call is for the ledger."""

from datetime import timedelta

import pytest

from sophon_channels.backoff import backoff_delay
from sophon_channels.contract import (
    SendAmbiguous,
    SendChatMigrated,
    SendDeferred,
    SendResult,
    SendUnauthorized,
    SendUndeliverable,
)
from sophon_channels.telegram.api.errors import EDIT_METHOD, TelegramApiError, send_result_from_error


def failure(status: int | None, problem: str = "no", *, went_out: bool = True, **facts: int) -> TelegramApiError:
    made = TelegramApiError("sendMessage", problem, status=status, may_have_arrived=went_out)
    made.retry_after, made.migrated_chat_id = facts.get("retry_after"), facts.get("migrated_chat_id")
    return made


def gone(error: str) -> SendUndeliverable:
    return SendUndeliverable(error, is_chat_gone=True)


def seconds(number: int) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        (failure(429, retry_after=17), SendDeferred("sendMessage: 429: no", seconds(17))),
        (failure(400, migrated_chat_id=-1009), SendChatMigrated("-1009/7")),
        (failure(403), SendUndeliverable("sendMessage: 403: no", is_chat_gone=True)),
        (failure(400, "Chat not found"), SendUndeliverable("sendMessage: 400: Chat not found", is_chat_gone=True)),
        (failure(400), SendUndeliverable("sendMessage: 400: no")),
        (failure(401), SendUnauthorized("sendMessage: 401: no")),
        (failure(500, went_out=False), SendDeferred("sendMessage: 500: no", seconds(2))),
        (failure(502), SendAmbiguous("sendMessage: 502: no")),
        (failure(400, "Bad Request: PEER_ID_INVALID"), gone("sendMessage: 400: Bad Request: PEER_ID_INVALID")),
        (failure(400, "not enough rights to send"), gone("sendMessage: 400: not enough rights to send")),
        (failure(None), SendAmbiguous("sendMessage: no")),
        (failure(None, went_out=False), SendDeferred("sendMessage: no", seconds(2))),
        (TelegramApiError(EDIT_METHOD, "no"), SendDeferred("editMessageText: no", seconds(2))),
    ],
)
def test_each_failure_has_its_consequence(failed: TelegramApiError, expected: SendResult) -> None:
    assert send_result_from_error(failed, 2, "7") == expected


def test_pauses_grow_and_have_an_end() -> None:
    pauses = [backoff_delay(attempts).total_seconds() for attempts in (0, 1, 2, 5, 9, 10, 10**9)]
    assert pauses == [
        1,
        1,
        2,
        16,
        256,
        300,
        300,
    ]
