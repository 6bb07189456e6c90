"""What a client is told when something goes wrong: one code, one sentence, the same over Socket.IO and HTTP."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sophon.errors import InputError, NotFound, QueueFull, SophonError, StoreError
from sophon_hosting.access import Unauthorized
from sophon_hosting.approvals import DecisionRefused

log = logging.getLogger("sophon")

INTERNAL = "something went wrong in the host; its log has more under this id"


class Forbidden(SophonError):
    """It exists and belongs to somebody else, or only operators may do it."""

    code = "forbidden"


class Unavailable(SophonError):
    """The host is about to stop and takes nothing more."""

    code = "unavailable"


class Busy(SophonError):
    """It cannot be done while something runs that takes longer to stop; try again when it has ended."""

    code = "busy"


class TooLarge(InputError):
    """A message, or a list, that is longer than the host takes. Sizes in `unit`."""

    code = "too_large"

    def __init__(self, what: str, size: int, limit: int, unit: str = "characters") -> None:
        self.size, self.limit = size, limit
        super().__init__(f"{what} is too large: {size:,} {unit}, and at most {limit:,} are taken")


STATUS: Mapping[str, int] = {
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "already_decided": 409,
    "expired": 409,
    "not_editable": 409,
    "illegal_transition": 409,
    "busy": 409,
    "too_large": 413,
    "queue_full": 429,
    "internal": 500,
    "unavailable": 503,
}
"""The HTTP status of a code; any other mistake of the client is 400."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as a client sees it. `status` is that of HTTP, `extra` what the code carries besides."""

    code: str
    message: str
    status: int = 400
    extra: Mapping[str, Any] = field(default_factory=lambda: {})

    def to_json(self) -> dict[str, Any]:
        """The answer: `{"ok": false, "error": {"code", "message", ...}}`."""
        return {"ok": False, "error": {"code": self.code, "message": self.message, **self.extra}}


def failure_of(error: Exception) -> Failure:
    """What the client is told of an exception. One that nobody foresaw is logged, and only its id goes out."""
    if isinstance(error, StoreError) or not isinstance(error, SophonError):
        error_id = os.urandom(8).hex()
        log.error("internal error %s", error_id, exc_info=error)
        return Failure("internal", INTERNAL, 500, {"id": error_id})
    extra: dict[str, Any] = {}
    if isinstance(error, QueueFull):
        extra["retry_after_seconds"] = error.retry_after_seconds
    if isinstance(error, DecisionRefused) and error.decided_by:
        extra["decided_by"] = error.decided_by
    return Failure(error.code, _sentence(error), STATUS.get(error.code, 400), extra)


def _sentence(error: SophonError) -> str:
    """Without the near names that it may carry: they can be somebody else's."""
    return f"there is no {error.kind} {error.name!r}" if isinstance(error, NotFound) else str(error)


__all__ = ["Busy", "Failure", "Forbidden", "TooLarge", "Unauthorized", "Unavailable", "failure_of"]
