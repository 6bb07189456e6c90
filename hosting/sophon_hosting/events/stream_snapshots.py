"""Snapshots of streamed replies: the text of the current epoch, for clients that join during a stream."""

from dataclasses import field

from sophon.events import Event, StreamChunk, StreamReset
from sophon.joined_text import add_piece
from sophon.lazy_dataclass import dataclass
from sophon_hosting.events.json_encoding import json_bytes
from sophon_hosting.events.large_chunks import MAX_INLINE_BYTES, chunk_to_wire_events
from sophon_hosting.events.wire_event import WireEvent, to_wire_event

SNAPSHOT_RESET_REASON = "joined during the stream; the text so far follows"
"""Reason of the reset in a snapshot."""


@dataclass(slots=True)
class StreamedReply:
    """Chunks of a reply's current epoch; `length` is in characters."""

    epoch: int
    run_id: str
    pieces: list[str] = field(default_factory=lambda: [])
    length: int = 0

    def join(self) -> str:
        """Return the text so far."""
        self.pieces = ["".join(self.pieces)]
        return self.pieces[0]


class StreamSnapshots:
    """Streamed replies by task; sets each chunk's offset within the text of its epoch."""

    def __init__(self) -> None:
        self._replies: dict[str, StreamedReply] = {}

    def record(self, event: Event) -> None:
        """Record a chunk, setting its offset, or a reset."""
        if isinstance(event, StreamChunk):
            reply = self._get_or_create(event.task_id, event.epoch, event.run_id)
            event.offset = reply.length
            add_piece(reply.pieces, event.text)
            reply.length += len(event.text)
        elif isinstance(event, StreamReset):
            self._get_or_create(event.task_id, event.epoch, event.run_id)

    def discard(self, task_id: str) -> None:
        """Discard the reply of a finished task, whose outcome carries the whole text."""
        self._replies.pop(task_id, None)

    def clear(self) -> None:
        """Discard all replies."""
        self._replies.clear()

    def find_text(self, task_id: str, epoch: int) -> str | None:
        """Return the text so far of a task's reply; None if another epoch is being streamed, or nothing."""
        reply = self._replies.get(task_id)
        return reply.join() if reply is not None and reply.epoch == epoch else None

    def find(self, task_id: str) -> StreamedReply | None:
        """Return a task's reply; None if nothing of it was streamed."""
        return self._replies.get(task_id)

    def to_wire_events(self, session_id: str) -> list[WireEvent]:
        """Return a reset and the chunks of the epoch's text for each reply, for a client that joins.

        A text that is too large for that is one chunk with the beginning and a reference.
        """
        wire_events: list[WireEvent] = []
        remaining_bytes = MAX_INLINE_BYTES
        for task_id, reply in self._replies.items():
            if not reply.pieces:
                continue
            reset = StreamReset(epoch=reply.epoch, reason=SNAPSHOT_RESET_REASON)
            chunk = StreamChunk(epoch=reply.epoch, text=reply.join())
            for event in (reset, chunk):
                event.session_id, event.task_id, event.run_id = session_id, task_id, reply.run_id
            wire_events += [to_wire_event(reset), *chunk_to_wire_events(chunk, remaining_bytes)]
            remaining_bytes -= min(json_bytes(chunk.text), remaining_bytes)
        return wire_events

    def __len__(self) -> int:
        return len(self._replies)

    def _get_or_create(self, task_id: str, epoch: int, run_id: str) -> StreamedReply:
        reply = self._replies.get(task_id)
        if reply is None or reply.epoch != epoch:
            reply = self._replies[task_id] = StreamedReply(epoch, run_id)
        return reply
