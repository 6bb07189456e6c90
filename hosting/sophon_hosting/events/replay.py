"""Replay: the newest stored events after the last one that a client knows, bounded in number and size."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from sophon.stores.events.contract import EventLog, LoggedEvent
from sophon_hosting.events.wire_event import WireEvent, wire_event_from_log

MAX_REPLAY_EVENTS = 1000
"""Maximum number of events of a replay."""

MAX_REPLAY_BYTES = 1_000_000
"""Maximum JSON size of a replay, which must fit a frame of every client; older events are available over HTTP."""


@dataclass(frozen=True, slots=True)
class SessionReplay:
    """Missed events in order up to `seq`; later ones arrive live. `is_partial`: older missed events were left out."""

    seq: int
    events: Sequence[WireEvent]
    is_partial: bool = False


async def read_missed_events(log: EventLog, session_id: str, last_seq: int) -> SessionReplay:
    """Return the stored events after `last_seq`; a `last_seq` beyond the log restarts from 0, with `is_partial`."""
    last = await log.last_seq(session_id)
    known = last_seq if 0 <= last_seq <= last else 0
    start = max(known, last - MAX_REPLAY_EVENTS)
    rows = select_newest(await log.list_after(session_id, start, MAX_REPLAY_EVENTS), MAX_REPLAY_BYTES)
    first = rows[0].seq if rows else last + 1
    wire_events = [wire_event_from_log(session_id, row) for row in rows]
    return SessionReplay(last, wire_events, is_partial=first != known + 1 or known != last_seq)


def select_newest(rows: Sequence[LoggedEvent], max_bytes: int) -> Sequence[LoggedEvent]:
    """Return as many of the last events as fit into `max_bytes` of JSON, at least one."""
    remaining_bytes = max_bytes
    for index in range(len(rows) - 1, -1, -1):
        remaining_bytes -= len(orjson.dumps(rows[index].data))
        if remaining_bytes < 0:
            return rows[min(index + 1, len(rows) - 1) :]
    return rows
