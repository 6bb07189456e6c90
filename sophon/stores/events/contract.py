"""The event log's contract: the durable events of each session in order, so that a client can catch up."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.outbound_entry import OutboundEntry


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """A durable event as it was sent: its name and its payload, plain JSON.

    The store sets `seq` (1, 2, 3 within the session) and `at`. `texts` are the large texts by id that the payload
    refers to in its field `large`, instead of containing them; they are stored with the event, and read with
    `TextStore`. A trace tells how a task went and nothing that a client must know to show it: it is stored apart, with
    the `at` that it has and without a seq. `outbound` are the outbound entries that are added to the outbox in the
    transaction that stores the event; an event that is read has none, and a trace adds none.
    """

    name: str
    data: Mapping[str, Any]
    task_id: str = ""
    seq: int = 0
    at: datetime | None = None
    texts: Mapping[str, str] = field(default_factory=lambda: {}, compare=False)
    is_trace: bool = False
    outbound: tuple[OutboundEntry, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Last seq of a session's log. `session` identifies the session: a later one with the same id has another."""

    session: int
    seq: int


def merge_traces(events: Sequence[LoggedEvent], traces: Sequence[LoggedEvent]) -> list[LoggedEvent]:
    """Return both in order of time; the events stay in their order.

    An event has the time at which it was stored, so it may follow a trace that was emitted soon after it.
    """
    merged: list[LoggedEvent] = []
    remaining = list(reversed(traces))
    for event in events:
        while remaining and event.at is not None and (at := remaining[-1].at) is not None and at < event.at:
            merged.append(remaining.pop())
        merged.append(event)
    return [*merged, *reversed(remaining)]


class EventLog(Protocol):
    """A numbered log per session without gaps; only its oldest part is ever dropped. It is deleted with its session.

    Beside it are the traces of the session's tasks, which are dropped together with events of the same age.
    """

    async def append(self, session_id: str, events: Sequence[LoggedEvent]) -> int:
        """Append events in order, all or none, with their outbound entries; return the last seq; traces get none.

        Raises NotFound for an unknown session.
        """
        ...

    async def list_after(self, session_id: str, seq: int, limit: int = 1000) -> list[LoggedEvent]:
        """Return at most `limit` events that follow a seq, in order; none for an unknown session.

        If the first is not `seq + 1`, or if there is none and `last_seq` is greater, the events in between were
        dropped.
        """
        ...

    async def list_traces(self, session_id: str, task_id: str) -> list[LoggedEvent]:
        """Return the traces of a task, in the order in which they were stored."""
        ...

    async def last_seq(self, session_id: str) -> int:
        """Return the last seq that was assigned, even if that event was dropped; 0 if there was none."""
        ...

    async def find_positions(self, session_ids: Sequence[str]) -> Mapping[str, LogPosition]:
        """Return where the logs of sessions are, by session id; unknown sessions are left out. One query for all."""
        ...

    async def trim(self, session_id: str, keep: int) -> int:
        """Drop all but the newest `keep` events of a session, and of its traces; return how many were dropped."""
        ...

    async def expire(self, before: datetime) -> int:
        """In every session, drop all events up to the last one that is older than `before`; return how many.

        Its traces that are as old are dropped with them.
        """
        ...
