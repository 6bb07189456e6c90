"""Large chunks of a streamed text: several chunks if the text is large, one with a reference if it is very large.

What streams faster than a client reads would fill its send buffer, and disconnect it.
"""

from typing import Any
from urllib.parse import quote

from sophon.events import ReasoningChunk, StreamChunk
from sophon_hosting.events.json_encoding import json_bytes
from sophon_hosting.events.large_fields import HEAD_CHARACTERS, LARGE_FIELD, text_reference
from sophon_hosting.events.wire_event import WireEvent

CHUNK_CHARACTERS = 16 * 1024
"""Maximum length of one chunk."""

MAX_INLINE_BYTES = 256 * 1024
"""Maximum JSON size of a text that is sent as chunks at once; it leaves room in a replay for other events."""


def chunk_to_wire_events(
    chunk: StreamChunk | ReasoningChunk, max_inline_bytes: int = MAX_INLINE_BYTES
) -> list[WireEvent]:
    """Return the wire events of a chunk: one, except for a large text."""
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
