import logging

import pytest

from sophon.errors import InputError, NotFound, StoreError
from sophon_hosting.client_api.authentication.token_authentication import Unauthorized
from sophon_hosting.client_api.client_errors import Forbidden, TooLarge, Unavailable, to_error_payload
from sophon_hosting.features.imports.export_reader import ImportsBusy
from sophon_hosting.features.openai_api.completion_errors import IdempotencyKeyReused
from sophon_hosting.queue.errors import QueueFull, TooManyMessages
from sophon_hosting.runs.approvals.approval_service import DecisionRefused


@pytest.mark.parametrize(
    ("error", "code", "status", "extra"),
    [
        (Unauthorized(True), "unauthorized", 401, {}),
        (Forbidden("no"), "forbidden", 403, {}),
        (NotFound("task", "x"), "not_found", 404, {}),
        (DecisionRefused("already_decided", "late", "bob"), "already_decided", 409, {"decided_by": "bob"}),
        (DecisionRefused("expired", "late"), "expired", 409, {}),
        (TooLarge("it", 2, 1), "too_large", 413, {}),
        (QueueFull(100, 7), "queue_full", 429, {"retry_after_seconds": 7}),
        (TooManyMessages(30, 7), "too_many_messages", 429, {"retry_after_seconds": 7}),
        (
            QueueFull(100, 7, owner_waiting=75),
            "queue_full",
            429,
            {"retry_after_seconds": 7, "reason": "share", "waiting": 75},
        ),
        (Unavailable("stopping"), "unavailable", 503, {}),
        (InputError("empty"), "input", 400, {}),
        (ImportsBusy(), "imports_busy", 429, {"retry_after_seconds": 30}),
        (IdempotencyKeyReused("k"), "idempotency_key_reused", 422, {}),
    ],
)
def test_each_error_has_its_code_and_status(error: Exception, code: str, status: int, extra: dict) -> None:
    failure = to_error_payload(error)
    assert (failure.code, failure.status, failure.extra) == (code, status, extra)
    body = failure.to_json()
    assert body == {"ok": False, "error": {"code": code, "message": failure.message, **extra}}


@pytest.mark.parametrize("error", [RuntimeError("secret sk-123"), StoreError("sqlite:///x", "secret sk-123")])
def test_what_nobody_foresaw_is_told_by_its_id_only(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        failure = to_error_payload(error)
    assert (failure.code, failure.status) == ("internal", 500)
    assert "secret" not in str(failure.to_json())
    assert failure.extra["id"] in caplog.text
    assert "sk-123" in caplog.text


def test_near_names_which_can_be_somebody_elses_stay_inside() -> None:
    assert "bobs-session" not in to_error_payload(NotFound("session", "bob-session", ["bobs-session"])).message
