"""FIFO queue of the events of one session that wait to be stored or published; chunks of one text are merged."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from sophon._python.joined_text import add_piece
from sophon._python.lazy_dataclass import dataclass
from sophon.events import Event, ReasoningChunk, StreamChunk
from sophon_hosting.events.wire_event import RowBuilder
from sophon_hosting.store.events.logged_event import LoggedEvent

MAX_PENDING_TRACES = 1000
"""Number of newest traces that are kept while the store is unavailable."""

PendingEvent: TypeAlias = tuple[Event, LoggedEvent | None]
"""An event with the row that stores it; a transient one has none."""


@dataclass(slots=True)
class EventBatch:
    """Events that one transaction stores: traces and events that were `pending`, then those that it reports itself.

    `is_new` says whether the task of an event has not emitted it before.
    """

    build_row: RowBuilder
    is_new: Callable[[Event], bool]
    pending: Sequence[PendingEvent] = ()
    traces: Sequence[LoggedEvent] = ()
    reported: Sequence[tuple[Event, LoggedEvent]] = ()
    """The events of the transaction itself with their rows."""

    def build_rows(self, reported: Sequence[Event]) -> Sequence[LoggedEvent]:
        """Return the rows of all events, given those that the transaction reports; again if that is repeated.

        What its task has emitted before is not reported again.
        """
        self.reported = [(event, self.build_row(event)) for event in reported if self.is_new(event)]
        return [*self.traces, *(row for _, row in [*self.pending, *self.reported] if row is not None)]

    def number(self, last: int) -> int:
        """Number the events, the last of which has this seq; return how many have a number."""
        events = [event for event, row in [*self.pending, *self.reported] if row is not None]
        for seq, event in enumerate(events, start=last - len(events) + 1):
            event.seq = seq
        return len(events)


class PendingEvents:
    """FIFO queue of events. A chunk that continues the newest one is merged with it.

    The text of a merged chunk is joined once, when the next event comes or the chunk leaves: joining it at every chunk
    would copy a long text again for each of its words. Traces, which were published already, wait to be stored.
    """

    def __init__(self) -> None:
        self.traces: list[LoggedEvent] = []
        """Traces that wait to be stored."""
        self.events: deque[PendingEvent] = deque()
        self.durable_count = 0
        """Number of events that wait to be stored."""
        self._pieces: list[str] = []
        """Text of the newest event, if chunks were merged with it; its `text` is complete after `_join_newest`."""
        self._length = 0

    def append(self, event: Event, row: LoggedEvent | None = None) -> None:
        """Add an event behind the others; a durable one has its row."""
        if self._pieces:
            self._join_newest()
        self.events.append((event, row))
        self.durable_count += row is not None

    def merge(self, event: Event) -> bool:
        """Merge a chunk with the newest event; return whether it continues that one's text."""
        newest = self.events[-1][0] if self.events else None
        if not (isinstance(event, StreamChunk | ReasoningChunk) and isinstance(newest, StreamChunk | ReasoningChunk)):
            return False
        length = self._length if self._pieces else len(newest.text)
        if not _continues_chunk(newest, length, event):
            return False
        if not self._pieces:
            self._pieces.append(newest.text)
        add_piece(self._pieces, event.text)
        self._length = length + len(event.text)
        return True

    def popleft(self) -> Event:
        """Remove and return the oldest event."""
        if self._pieces and len(self.events) == 1:
            self._join_newest()
        event, row = self.events.popleft()
        self.durable_count -= row is not None
        return event

    def add_trace(self, trace: LoggedEvent) -> None:
        """Add a trace; of too many, the oldest are dropped."""
        self.traces.append(trace)
        del self.traces[:-MAX_PENDING_TRACES]

    def begin_batch(self, build_row: RowBuilder, is_new: Callable[[Event], bool]) -> EventBatch:
        """Return what a transaction must store; its events stay in the queue until they leave it by `popleft`."""
        if self._pieces:
            self._join_newest()
        traces, self.traces = self.traces, []
        return EventBatch(build_row, is_new, list(self.events), traces)

    def remove_run(self, run_id: str) -> None:
        """Remove the events and traces of a run."""
        if self._pieces:
            self._join_newest()
        self.events = deque(each for each in self.events if each[0].task_id != run_id)
        self.durable_count = sum(row is not None for _, row in self.events)
        self.traces = [trace for trace in self.traces if trace.task_id != run_id]

    def clear(self) -> None:
        """Remove all events and traces."""
        self.events.clear()
        self.traces.clear()
        self._pieces, self.durable_count = [], 0

    def _join_newest(self) -> None:
        newest, _ = self.events[-1]
        assert isinstance(newest, StreamChunk | ReasoningChunk)
        newest.text, self._pieces = "".join(self._pieces), []


def _continues_chunk(newest: StreamChunk | ReasoningChunk, length: int, event: StreamChunk | ReasoningChunk) -> bool:
    """Return whether a chunk continues the text of another, which is `length` characters long. Pure."""
    if (event.task_id, event.run_id) != (newest.task_id, newest.run_id):
        return False
    if isinstance(event, StreamChunk) and isinstance(newest, StreamChunk):
        return event.epoch == newest.epoch
    if isinstance(event, ReasoningChunk) and isinstance(newest, ReasoningChunk):
        return event.reasoning_id == newest.reasoning_id and event.offset == newest.offset + length
    return False
