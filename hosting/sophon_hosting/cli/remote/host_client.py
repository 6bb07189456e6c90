"""What the clients of a host share: the rows that they return, and their error."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from sophon.errors import SophonError

JsonRow = Mapping[str, Any]
"""JSON object of the HTTP API (docs/api.md)."""

GoalChange: TypeAlias = Literal["pause", "resume", "cancel"]


class HostError(SophonError):
    """The host answered with an error, or did not answer. `code` is the error code of the host, or `no_host`."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)
