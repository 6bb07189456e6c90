"""Events of the log: the durable events of each session in order, so that a client can catch up."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon_channels.outbound_entry import OutboundEntry


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
    texts: Mapping[str, str] = field(default_factory=new_dict, compare=False)
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
