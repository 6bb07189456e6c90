"""Server-sent events decoder: network chunks to the data of events. Source: WHATWG HTML, 9.2."""

from sophon.errors import ProviderUnavailable

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Bytes without a line break after which the stream is rejected."""


class SseDecoder:
    """Incremental decoder: accepts chunks split anywhere and returns the `data` of the events; ignores other fields."""

    __slots__ = ("_buffer", "_data")

    def __init__(self) -> None:
        self._buffer = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events completed by this chunk. Raises ProviderUnavailable for an overlong line."""
        lines = (self._buffer + chunk).split(b"\n")
        self._buffer = lines.pop()
        if len(self._buffer) > MAX_LINE_BYTES:
            raise ProviderUnavailable(f"a line of the stream is longer than {MAX_LINE_BYTES} bytes")
        events: list[bytes] = []
        for line in lines:
            self._process_line(line.removesuffix(b"\r"), events)
        return events

    def flush(self) -> list[bytes]:
        """Return the event completed by the end of the stream: some servers omit the last line break."""
        events = self.feed(b"\n\n")
        self._buffer = b""
        return events

    def _process_line(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif not line and self._data:
            events.append(b"\n".join(self._data))
            self._data = []
