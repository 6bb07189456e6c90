"""Replay: the newest stored events after the last one that a client knows, bounded in number and size."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from sophon.stores.event_contracts import EventLog, LoggedEvent
from sophon_hosting.events.frame import Frame, replayed

MOST_EVENTS = 1000
"""Maximum number of events of a replay."""

MOST_BYTES = 1_000_000
"""Maximum JSON size of a replay, which must fit a frame of every client; older events are available over HTTP."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Missed events in order up to `seq`; later ones arrive live. `partial`: older missed events were left out."""

    seq: int
    events: Sequence[Frame]
    partial: bool = False


async def missed(log: EventLog, session_id: str, last_seq: int) -> Joined:
    """Return the stored events after `last_seq`; a `last_seq` beyond the log restarts from 0, with `partial`."""
    last = await log.last(session_id)
    known = last_seq if 0 <= last_seq <= last else 0
    start = max(known, last - MOST_EVENTS)
    rows = newest(await log.after(session_id, start, MOST_EVENTS), MOST_BYTES)
    first = rows[0].seq if rows else last + 1
    wire_events = [replayed(session_id, row) for row in rows]
    return Joined(last, wire_events, partial=first != known + 1 or known != last_seq)


def newest(rows: Sequence[LoggedEvent], most_bytes: int) -> Sequence[LoggedEvent]:
    """Return as many of the last events as fit into `most_bytes` of JSON, at least one."""
    remaining_bytes = most_bytes
    for index in range(len(rows) - 1, -1, -1):
        remaining_bytes -= len(orjson.dumps(rows[index].data))
        if remaining_bytes < 0:
            return rows[min(index + 1, len(rows) - 1) :]
    return rows
