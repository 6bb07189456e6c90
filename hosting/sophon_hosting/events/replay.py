"""What somebody missed: the newest events after the last that they know, within a bound."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from sophon.stores.event_contracts import EventLog, LoggedEvent
from sophon_hosting.events.frame import Frame, replayed

MOST_EVENTS = 1000
MOST_BYTES = 1_000_000
"""Of JSON. Longer replays do not fit a frame that every client takes; what is older is read over HTTP."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What was missed, in order, up to `seq`; then it goes on live. `partial`: there was more, and older."""

    seq: int
    events: Sequence[Frame]
    partial: bool = False


async def missed(log: EventLog, session_id: str, last_seq: int) -> Joined:
    """What the log holds after `last_seq`; somebody who knows more than there ever was begins anew, with `partial`."""
    last = await log.last(session_id)
    known = last_seq if 0 <= last_seq <= last else 0
    start = max(known, last - MOST_EVENTS)
    rows = newest(await log.after(session_id, start, MOST_EVENTS), MOST_BYTES)
    first = rows[0].seq if rows else last + 1
    frames = [replayed(session_id, row) for row in rows]
    return Joined(last, frames, partial=first != known + 1 or known != last_seq)


def newest(rows: Sequence[LoggedEvent], most_bytes: int) -> Sequence[LoggedEvent]:
    """As many of the last ones as fit into so many bytes of JSON; at least one."""
    room = most_bytes
    for index in range(len(rows) - 1, -1, -1):
        room -= len(orjson.dumps(rows[index].data))
        if room < 0:
            return rows[min(index + 1, len(rows) - 1) :]
    return rows
