"""JSON Lines renderer of a turn: one `{"event": name, "data": {...}}` per line, the last one is the response."""

import json
from collections.abc import Mapping
from typing import Any, TextIO

from sophon.events import Event
from sophon.messages import Response


class JsonRenderer:
    """Writes every event in its wire format, in ASCII; nothing else is written to the stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def start_turn(self) -> None:
        """Do nothing: the first event marks the start of a turn."""

    def emit(self, event: Event, /) -> None:
        """Write one event as one line."""
        self._write(event.wire_name, event.to_wire())

    def finish_turn(self, response: Response, session_id: str) -> None:
        """Write the response as the last line of a turn, whatever its finish reason."""
        self._write(
            "response",
            {
                "session_id": session_id,
                "text": response.text,
                "finish_reason": response.finish_reason,
                "usage": response.usage.to_json(),
                "tool_calls": [call.to_json() for call in response.tool_calls],
                "detail": dict(response.detail),
            },
        )

    def _write(self, name: str, data: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps({"event": name, "data": data}, default=str) + "\n")
        self._stream.flush()
