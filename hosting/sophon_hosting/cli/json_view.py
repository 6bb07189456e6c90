"""JSON Lines renderer of a turn: one `{"event": name, "data": {...}}` per line, the last one is the response."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from sophon.events import Event
from sophon.messages import Response
from sophon_hosting.cli.visible import escape_control_characters


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


class StandardErrorOutput:
    """Prompt output on standard error, used while standard output carries JSON."""

    def write_lines(self, lines: Iterable[str]) -> None:
        """Write whole lines."""
        for line in lines:
            sys.stderr.write(escape_control_characters(line) + "\n")

    def write_prompt(self, text: str) -> None:
        """Write the prompt text and leave the cursor behind it."""
        sys.stderr.write(escape_control_characters(text))
        sys.stderr.flush()

    def finish_prompt(self, text: str, *, echoed: bool) -> None:
        """Write the answer behind the prompt unless the terminal has echoed it."""
        if not echoed:
            sys.stderr.write(escape_control_characters(text) + "\n")
