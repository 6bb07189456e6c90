"""Errors in OpenAI's format: HTTP status, type and code by cause, and whether the client may send the request again.

OpenAI's clients send a request again after 408, 409, 429 and every status from 500 on, unless `x-should-retry` says
otherwise. So a failure of a turn, which may have run tools, always says `false`.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sophon.errors import SophonError, find_unavailable_until
from sophon_hosting.client_api.client_errors import ErrorPayload

LIMIT_RETRY_SECONDS = 60
"""`Retry-After` of a turn that reached a limit whose end no error tells; providers count by the minute."""

MAX_RETRY_SECONDS = 3600
"""The longest pause of a provider; a message may also repeat what the provider says."""

TURN_STATUS_BY_CODE: Mapping[str, int] = {
    "input": 400,
    "message_too_large": 400,
    "context_overflow": 400,
    "bad_request": 400,
    "cancelled": 400,
    "rate_limited": 429,
    "too_many_messages": 429,
    "budget_exceeded": 429,
    "price_unknown": 429,
    "authentication": 502,
    "provider_unavailable": 502,
    "response_too_large": 502,
    "overloaded": 503,
    "no_provider": 503,
    "unavailable": 503,
    "queue_unavailable": 503,
    "model_timeout": 504,
    "timeout": 504,
}
"""HTTP status by the error code of a turn; every other failure is 500.

A wrong key of a provider is 502: 401 would say that the client's own key is wrong. A cancellation is 400, because some
clients ignore `x-should-retry` and send again what is 409.
"""

_TYPE_BY_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_OPENAI_CODES = {
    "message_too_large": "context_length_exceeded",
    "context_overflow": "context_length_exceeded",
    "budget_exceeded": "insufficient_quota",
}
_NOTHING_RAN_STATUSES = (408, 429, 503)
"""Statuses of a refused request that may succeed if it is sent again."""


class IdempotencyKeyReused(SophonError):
    """Error: the idempotency key was used for another request (code `idempotency_key_reused`)."""

    code = "idempotency_key_reused"

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"the idempotency key {key!r} was used for another request; send a new key")


def payload_of_turn(code: str, message: str, now: datetime) -> ErrorPayload:
    """Return the error of a turn that failed or was cancelled. Pure."""
    status = TURN_STATUS_BY_CODE.get(code, 500)
    seconds = LIMIT_RETRY_SECONDS if status == 429 else None
    if (until := find_unavailable_until(message)) is not None and until > now:
        seconds = min(math.ceil((until - now).total_seconds()), MAX_RETRY_SECONDS)
    return ErrorPayload(code, message, status, {} if seconds is None else {"retry_after_seconds": seconds})


def to_error_body(failure: ErrorPayload) -> dict[str, Any]:
    """Return `{"error": {message, type, param, code}}`."""
    kind = _TYPE_BY_STATUS.get(failure.status, "server_error" if failure.status >= 500 else "invalid_request_error")
    code = _OPENAI_CODES.get(failure.code, failure.code)
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": code}}


def to_error_headers(failure: ErrorPayload, *, has_run: bool) -> dict[str, str]:
    """Return `x-should-retry`, and `Retry-After` if the time is known."""
    may_retry = not has_run and failure.status in _NOTHING_RAN_STATUSES
    headers = {"x-should-retry": "true" if may_retry else "false"}
    seconds = failure.extra.get("retry_after_seconds")
    return headers if seconds is None else {**headers, "Retry-After": str(seconds)}
