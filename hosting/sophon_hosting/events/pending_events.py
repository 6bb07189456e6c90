"""FIFO queue of the events of one session that wait to be stored or published; chunks of one text are merged."""

from collections import deque
from collections.abc import Iterator

from sophon.events import Event, ReasoningChunk, StreamChunk
from sophon.joined_text import add_piece


class PendingEvents:
    """FIFO queue of events. A chunk that continues the newest one is merged with it.

    The text of a merged chunk is joined once, when the next event comes or the chunk leaves: joining it at every chunk
    would copy a long text again for each of its words.
    """

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._pieces: list[str] = []
        """Text of the newest event, if chunks were merged with it; its `text` is complete after `_join_newest`."""
        self._length = 0

    def append(self, event: Event) -> None:
        """Add an event behind the others."""
        self._join_newest()
        self._events.append(event)

    def merge(self, event: Event) -> bool:
        """Merge a chunk with the newest event; return whether it continues that one's text."""
        newest = self._events[-1] if self._events else None
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

    @property
    def oldest(self) -> Event | None:
        """The event that `popleft` would remove, whose text may not be complete yet."""
        return self._events[0] if self._events else None

    def popleft(self) -> Event:
        """Remove and return the oldest event."""
        if len(self._events) == 1:
            self._join_newest()
        return self._events.popleft()

    def remove_run(self, run_id: str) -> None:
        """Remove the events of a run."""
        self._join_newest()
        self._events = deque(event for event in self._events if event.task_id != run_id)

    def clear(self) -> None:
        """Remove all events."""
        self._events.clear()
        self._pieces = []

    def __iter__(self) -> Iterator[Event]:
        self._join_newest()
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def _join_newest(self) -> None:
        if self._pieces:
            newest = self._events[-1]
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
