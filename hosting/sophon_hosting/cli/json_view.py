"""A turn for programs: one JSON object a line, `{"event": name, "data": {...}}`, and the response as the last."""

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from sophon.events import Event
from sophon.messages import Response
from sophon_hosting.cli.visible import visible


class JsonView:
    """Writes every event as it is on the wire, in ASCII; nothing else goes to the stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def begin(self) -> None:
        """A turn begins; its first event will tell."""

    def emit(self, event: Event, /) -> None:
        """One line for one event."""
        self._write(event.wire_name, event.to_wire())

    def end(self, response: Response, session_id: str) -> None:
        """The last line of a turn, whatever came of it."""
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


class StandardError:
    """Where people are asked and told things while standard output belongs to a program."""

    def lines(self, lines: Iterable[str]) -> None:
        """Whole lines."""
        for line in lines:
            sys.stderr.write(visible(line) + "\n")

    def ask(self, text: str) -> None:
        """A question, with the cursor behind it."""
        sys.stderr.write(visible(text))
        sys.stderr.flush()

    def answered(self, text: str, *, echoed: bool) -> None:
        """The answer behind a question."""
        if not echoed:
            sys.stderr.write(visible(text) + "\n")
