"""The event log's contract: the durable events of each session in order, so that a client can catch up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """A durable event as it was sent: its name and its payload, plain JSON.

    The store sets `seq` (1, 2, 3 within the session) and `at`. `texts` are the large texts by id that the payload
    refers to in its field `large`, instead of containing them; they are stored with the event, and read with
    `TextStore`.
    """

    name: str
    data: Mapping[str, Any]
    task_id: str = ""
    seq: int = 0
    at: datetime | None = None
    texts: Mapping[str, str] = field(default_factory=lambda: {}, compare=False)


class EventLog(Protocol):
    """A numbered log per session without gaps; only its oldest part is ever dropped. It is deleted with its session."""

    async def append(self, session_id: str, events: Sequence[LoggedEvent]) -> int:
        """Append events in order, all or none, and return the last seq. Raises NotFound for an unknown session."""
        ...

    async def list_after(self, session_id: str, seq: int, limit: int = 1000) -> list[LoggedEvent]:
        """Return at most `limit` events that follow a seq, in order; none for an unknown session.

        If the first is not `seq + 1`, or if there is none and `last_seq` is greater, the events in between were
        dropped.
        """
        ...

    async def last_seq(self, session_id: str) -> int:
        """Return the last seq that was assigned, even if that event was dropped; 0 if there was none."""
        ...

    async def trim(self, session_id: str, keep: int) -> int:
        """Drop all but the newest `keep` events of a session; return how many were dropped."""
        ...

    async def expire(self, before: datetime) -> int:
        """In every session, drop all events up to the last one that is older than `before`; return how many."""
        ...
