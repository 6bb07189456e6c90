"""Client errors: exceptions as error payloads (code, message, HTTP status), the same over Socket.IO and HTTP."""

import logging
import os
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.errors import InputError, NotFound, SophonError, StoreError, StoreUnavailable, TrialFailed
from sophon.security import describe_error
from sophon.settings.sections.permissions import LevelNeeded
from sophon_hosting.client_api.authentication.token_authentication import Unauthorized
from sophon_hosting.client_api.rights import ScopeNeeded
from sophon_hosting.queue.errors import QueueFull, TryLater
from sophon_hosting.runs.approvals.approval_service import DecisionRefused

log = logging.getLogger("sophon")

INTERNAL_ERROR_MESSAGE = "internal error; see the log of the host under this id"


class Forbidden(SophonError):
    """Error: the object belongs to another user, or the operation is for operators only (code `forbidden`)."""

    code = "forbidden"


class Unavailable(SophonError):
    """Error: the host is shutting down and accepts no more requests (code `unavailable`, as for StoreUnavailable)."""

    code = "unavailable"


class BodyTimeout(SophonError, TimeoutError):
    """Error: the body of a request did not arrive in time (code `request_timeout`)."""

    code = "request_timeout"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"the body did not arrive within {seconds:g} s")


class TooLarge(InputError):
    """Error: a message or list exceeds its limit (code `too_large`); sizes are in `unit`."""

    code = "too_large"

    def __init__(self, subject: str, size: int, limit: int, unit: str = "characters") -> None:
        self.size, self.limit = size, limit
        super().__init__(f"{subject} is too large: {size:,} {unit}; the limit is {limit:,}")


HTTP_STATUS_BY_CODE: Mapping[str, int] = {
    "unauthorized": 401,
    "forbidden": 403,
    "operator_needed": 403,
    "level_needed": 403,
    "scope_needed": 403,
    "not_found": 404,
    "otr_lost": 404,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "already_decided": 409,
    "other_session": 409,
    "other_mode": 409,
    "expired": 409,
    "not_editable": 409,
    "not_grantable": 409,
    "wrong_kind": 409,
    "illegal_transition": 409,
    "busy": 409,
    "changed_meanwhile": 409,
    "attachment_in_use": 409,
    "too_large": 413,
    "attachments_full": 413,
    "unsupported_media_type": 415,
    "idempotency_key_reused": 422,
    "queue_full": 429,
    "otr_full": 429,
    "replay_busy": 429,
    "too_many_messages": 429,
    "import_running": 429,
    "imports_busy": 429,
    "too_many_uploads": 429,
    "internal": 500,
    "unavailable": 503,
    "queue_unavailable": 503,
}
"""HTTP status by error code; every other client error is 400."""


@dataclass(frozen=True, slots=True)
class ErrorPayload:
    """Error as sent to a client. `status` is the HTTP status, `extra` the additional fields of the code."""

    code: str
    message: str
    status: int = 400
    extra: Mapping[str, Any] = field(default_factory=new_dict)

    def to_json(self) -> dict[str, Any]:
        """Return `{"ok": false, "error": {"code", "message", ...}}`."""
        return {"ok": False, "error": {"code": self.code, "message": self.message, **self.extra}}


def to_error_payload(error: Exception) -> ErrorPayload:
    """Return the payload for an exception. Store errors and unexpected exceptions are logged; only their id is sent.

    That the store is unavailable is logged by its health, once; the client gets the reason, without names of files.
    """
    if isinstance(error, StoreUnavailable):
        return ErrorPayload(error.code, str(error), 503, {"retry_after_seconds": error.retry_after_seconds})
    if isinstance(error, StoreError) or not isinstance(error, SophonError):
        error_id = os.urandom(8).hex()
        log.error("internal error %s", error_id, exc_info=error)
        return ErrorPayload("internal", INTERNAL_ERROR_MESSAGE, 500, {"id": error_id})
    extra: dict[str, Any] = {}
    if isinstance(error, TryLater):
        extra["retry_after_seconds"] = error.retry_after_seconds
        if isinstance(error, QueueFull) and error.owner_waiting is not None:
            extra |= {"reason": "share", "waiting": error.owner_waiting}
    if isinstance(error, DecisionRefused) and error.decided_by:
        extra["decided_by"] = error.decided_by
    if isinstance(error, LevelNeeded):
        extra |= {"feature": error.feature, "level": error.level}
    if isinstance(error, TrialFailed):
        extra["reason"] = error.reason
    if isinstance(error, ScopeNeeded):
        extra["scope"] = error.scope
    return ErrorPayload(error.code, _public_message(error), HTTP_STATUS_BY_CODE.get(error.code, 400), extra)


def _public_message(error: SophonError) -> str:
    """Return the message without the suggested names of a NotFound: they may belong to other users."""
    return f"there is no {error.kind} {error.name!r}" if isinstance(error, NotFound) else describe_error(error)


__all__ = [
    "BodyTimeout",
    "ErrorPayload",
    "Forbidden",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "to_error_payload",
]
