"""JSON Lines renderer of a turn: one `{"event": name, "data": {...}}` per line, the last one is the response."""

import json
from collections.abc import Mapping
from typing import Any, TextIO

from sophon.events import Event
from sophon.messages import Response
from sophon_hosting.events.stream_snapshots import StreamSnapshots


class JsonRenderer:
    """Writes every event in its wire format, in ASCII; nothing else is written to the stream.

    The offset of a chunk is its position in what was written of its epoch, as no host sets it in this process.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._snapshots = StreamSnapshots()

    def start_turn(self) -> None:
        """Forget the streamed text of the turn before."""
        self._snapshots = StreamSnapshots()

    def emit(self, event: Event, /) -> None:
        """Write one event as one line."""
        self._snapshots.record(event)
        self._write(event.wire_name, event.to_wire())

    def finish_turn(self, response: Response, session_id: str) -> None:
        """Write the response as the last line of a turn, whatever its finish reason."""
        self._write(
            "response",
            {
                "session_id": session_id,
                "text": response.full_text,
                "finish_reason": response.finish_reason,
                "usage": response.usage.to_json(),
                "tool_calls": [call.to_json() for call in response.tool_calls],
                "detail": dict(response.detail),
                "tool_rounds": response.tool_rounds,
                "fallback_attempts": response.fallback_attempts,
                "model": response.model,
            },
        )

    def _write(self, name: str, data: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps({"event": name, "data": data}, default=str) + "\n")
        self._stream.flush()
