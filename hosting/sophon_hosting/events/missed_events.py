"""Replay: the newest stored events after the last one that a client knows, bounded in number and size."""

from collections.abc import Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.events.wire_event import WireEvent, wire_event_from_log
from sophon_hosting.json_text import json_bytes
from sophon_hosting.store.events.logged_event import LogPosition
from sophon_hosting.store.events.sql import EventLog

MAX_MISSED_EVENTS = 1000
"""Maximum number of events of a replay."""

MAX_MISSED_BYTES = 900_000
"""Maximum JSON size of the events of a replay: with the acknowledgement around them they fit a frame of 1 MB, which
every client takes. Older events are available over HTTP.
"""

SEPARATOR_BYTES = 1


@dataclass(frozen=True, slots=True)
class MissedEvents:
    """Missed events in order up to `seq`; later ones arrive live. `is_partial`: older missed events were left out."""

    seq: int
    events: Sequence[WireEvent]
    is_partial: bool = False


async def find_position(log: EventLog, session_id: str) -> LogPosition | None:
    """Return where the log of a session is; None if there is no such session."""
    return (await log.find_positions([session_id])).get(session_id)


async def read_missed_events(
    log: EventLog, session_id: str, last_seq: int, position: LogPosition | None
) -> MissedEvents:
    """Return the stored events after `last_seq`; a `last_seq` beyond the log restarts from 0, with `is_partial`.

    `position` was read before. Other processes may have stored more since: `seq` is that of the last row that was read,
    and what follows it is not missed yet.
    """
    last = 0 if position is None else position.seq
    known = last_seq if 0 <= last_seq <= last else 0
    start = max(known, last - MAX_MISSED_EVENTS)
    rows = await log.list_after(session_id, start, MAX_MISSED_EVENTS)
    events = [wire_event_from_log(session_id, row) for row in rows]
    seq = rows[-1].seq if rows else last
    first = rows[0].seq if rows else seq + 1
    return MissedEvents(seq, events, is_partial=first != known + 1 or known != last_seq)


def bound_missed_events(
    missed: MissedEvents, snapshot: Sequence[WireEvent] = (), max_bytes: int = MAX_MISSED_BYTES
) -> MissedEvents:
    """Return the newest missed events and the streamed texts so far, at most `max_bytes` of JSON together. Pure.

    `seq` stays, even if its event does not fit, so that a client that asks again always advances.
    """
    newest = select_newest(missed.events, max_bytes - count_event_bytes(snapshot))
    is_partial = missed.is_partial or len(newest) < len(missed.events)
    return MissedEvents(missed.seq, [*newest, *snapshot], is_partial)


def select_newest(events: Sequence[WireEvent], max_bytes: int) -> Sequence[WireEvent]:
    """Return as many of the last events as fit into `max_bytes` of JSON."""
    remaining_bytes = max_bytes
    for index in range(len(events) - 1, -1, -1):
        remaining_bytes -= count_event_bytes([events[index]])
        if remaining_bytes < 0:
            return events[index + 1 :]
    return events


def count_event_bytes(events: Sequence[WireEvent]) -> int:
    """Return the size of events in a replay, as JSON with separators."""
    return sum(json_bytes(event.to_json()) + SEPARATOR_BYTES for event in events)
