"""Server-sent events decoder: network chunks to the data of events. Source: WHATWG HTML, 9.2."""

from sophon.errors import ResponseTooLarge

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Default limit on the bytes of a line, and on the data of an event with several lines."""

SUBJECT = "an event of the stream"


class SseDecoder:
    """Incremental decoder: accepts chunks split anywhere and returns the `data` of the events; ignores other fields."""

    __slots__ = ("_data", "_data_bytes", "_max_event_bytes", "_unfinished")

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._unfinished = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events completed by this chunk. Raises ResponseTooLarge for an overlong event."""
        first, line_break, rest = chunk.partition(b"\n")
        if not line_break:
            # Extended in place: a long line in many chunks is copied once.
            self._unfinished += chunk
            self._check(len(self._unfinished))
            return []
        events: list[bytes] = []
        self._process_line(bytes(self._unfinished) + first if self._unfinished else first, events)
        lines = rest.split(b"\n")
        self._unfinished = bytearray(lines.pop())
        for line in lines:
            self._process_line(line, events)
        self._check(len(self._unfinished))
        return events

    def flush(self) -> list[bytes]:
        """Return the event completed by the end of the stream: some servers omit the last line break."""
        events = self.feed(b"\n\n")
        self._unfinished.clear()
        return events

    def _process_line(self, line: bytes, events: list[bytes]) -> None:
        line = line.removesuffix(b"\r")
        if line.startswith(b"data:"):
            data = line[6:] if line[5:6] == b" " else line[5:]
            self._data_bytes += len(data) + 1
            self._check(self._data_bytes)
            self._data.append(data)
        elif not line and self._data:
            events.append(b"\n".join(self._data))
            self._data, self._data_bytes = [], 0

    def _check(self, size: int) -> None:
        if size > self._max_event_bytes:
            raise ResponseTooLarge(SUBJECT, self._max_event_bytes)
