"""Snapshots of streamed replies: the text of the current epoch, for clients that join during a stream."""

from dataclasses import field
from typing import Any
from urllib.parse import quote

from sophon._python.joined_text import add_piece
from sophon._python.lazy_dataclass import dataclass, new_list
from sophon.events import Event, ReasoningChunk, StreamChunk, StreamReset
from sophon_hosting.events.large_fields import HEAD_CHARACTERS, LARGE_FIELD, text_reference
from sophon_hosting.events.wire_event import WireEvent, to_wire_event
from sophon_hosting.json_text import json_bytes

SNAPSHOT_RESET_REASON = "joined during the stream; the text so far follows"
"""Reason of the reset in a snapshot."""

CHUNK_CHARACTERS = 16 * 1024
"""Maximum length of one chunk."""

MAX_INLINE_BYTES = 256 * 1024
"""Maximum JSON size of a text that is sent as chunks at once; it leaves room in a replay for other events."""


@dataclass(slots=True)
class StreamedReply:
    """Chunks of a reply's current epoch; `length` is in characters."""

    epoch: int
    run_id: str
    pieces: list[str] = field(default_factory=new_list)
    length: int = 0

    def join(self) -> str:
        """Return the text so far."""
        self.pieces = ["".join(self.pieces)]
        return self.pieces[0]


class StreamSnapshots:
    """Streamed replies by task; sets each chunk's offset within the text of its epoch."""

    def __init__(self) -> None:
        self.replies: dict[str, StreamedReply] = {}
        """By unfinished task."""

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
        self.replies.pop(task_id, None)

    def find_text(self, task_id: str, epoch: int) -> str | None:
        """Return the text so far of a task's reply; None if another epoch is being streamed, or nothing."""
        reply = self.replies.get(task_id)
        return reply.join() if reply is not None and reply.epoch == epoch else None

    def find(self, task_id: str) -> StreamedReply | None:
        """Return a task's reply; None if nothing of it was streamed."""
        return self.replies.get(task_id)

    def to_wire_events(self, session_id: str) -> list[WireEvent]:
        """Return a reset and the chunks of the epoch's text for each reply, for a client that joins.

        A text that is too large for that is one chunk with the beginning and a reference.
        """
        wire_events: list[WireEvent] = []
        remaining_bytes = MAX_INLINE_BYTES
        for task_id, reply in self.replies.items():
            if not reply.pieces:
                continue
            reset = StreamReset(epoch=reply.epoch, reason=SNAPSHOT_RESET_REASON)
            chunk = StreamChunk(epoch=reply.epoch, text=reply.join())
            for event in (reset, chunk):
                event.session_id, event.task_id, event.run_id = session_id, task_id, reply.run_id
            wire_events += [to_wire_event(reset), *chunk_to_wire_events(chunk, remaining_bytes)]
            remaining_bytes -= min(json_bytes(chunk.text), remaining_bytes)
        return wire_events

    def _get_or_create(self, task_id: str, epoch: int, run_id: str) -> StreamedReply:
        reply = self.replies.get(task_id)
        if reply is None or reply.epoch != epoch:
            reply = self.replies[task_id] = StreamedReply(epoch, run_id)
        return reply


def chunk_to_wire_events(
    chunk: StreamChunk | ReasoningChunk, max_inline_bytes: int = MAX_INLINE_BYTES
) -> list[WireEvent]:
    """Return the wire events of a chunk: one, except for a large text.

    What streams faster than a client reads would fill its send buffer, and disconnect it.
    """
    text = chunk.text
    if len(text) <= CHUNK_CHARACTERS:
        return [_to_wire(chunk, text, 0)]
    if isinstance(chunk, StreamChunk) and max(len(text), json_bytes(text)) > max_inline_bytes:
        url = stream_url(chunk.task_id, chunk.epoch, chunk.offset, chunk.offset + len(text))
        cut = {LARGE_FIELD: {"text": text_reference(url, text)}}
        return [_to_wire(chunk, text[:HEAD_CHARACTERS], 0, cut, chunk.to_wire())]
    starts = range(0, len(text), CHUNK_CHARACTERS)
    return [_to_wire(chunk, text[start : start + CHUNK_CHARACTERS], start) for start in starts]


def stream_url(task_id: str, epoch: int, start: int, end: int) -> str:
    """Return the relative URL of a part of a streamed text, which exists until the task or the epoch ends."""
    return f"/api/tasks/{quote(task_id, safe='')}/stream?epoch={epoch}&start={start}&end={end}"


def _to_wire(
    chunk: StreamChunk | ReasoningChunk,
    text: str,
    start: int,
    cut: dict[str, Any] | None = None,
    uncut: dict[str, Any] | None = None,
) -> WireEvent:
    data = {**chunk.to_wire(), "text": text, "offset": chunk.offset + start, **(cut or {})}
    return WireEvent(chunk.wire_name, data, chunk.session_id, chunk.task_id, None, uncut)
