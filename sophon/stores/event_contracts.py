"""What the hub asks of a store: the durable events of each session in order, so that a client can catch up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event as it goes over the wire: its name and its payload, plain JSON.

    `seq` (1, 2, 3 within the session) and `at` are set by the store.
    """

    name: str
    data: Mapping[str, Any]
    task_id: str = ""
    seq: int = 0
    at: datetime | None = None


class EventLog(Protocol):
    """A numbered log per session, without gaps: only its oldest part is ever dropped. It goes with its session."""

    async def append(self, session_id: str, events: Sequence[LoggedEvent]) -> int:
        """Add events in order, all or none, and give the last seq. NotFound if there is no such session."""
        ...

    async def after(self, session_id: str, seq: int, limit: int = 1000) -> list[LoggedEvent]:
        """At most `limit` events that follow a seq, in order; none for a session that does not exist.

        If the first is not `seq + 1`, or there is none and `last` is greater, then what lies between was dropped.
        """
        ...

    async def last(self, session_id: str) -> int:
        """The last seq that was given, whether or not that event is still there; 0 if there was none."""
        ...

    async def trim(self, session_id: str, keep: int) -> int:
        """Drop all but the newest `keep` events of a session; how many were dropped."""
        ...

    async def expire(self, before: datetime) -> int:
        """In every session, drop what came up to its last event before a time; how many were dropped."""
        ...
