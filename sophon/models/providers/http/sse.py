"""Server-sent events decoder: network chunks to the data of events. Source: WHATWG HTML, 9.2."""

from sophon.errors import ResponseTooLarge

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Default limit on the bytes of a line, and on the data of an event with several lines."""

SUBJECT = "an event of the stream"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseDecoder:
    """Incremental decoder: accepts chunks split anywhere and returns the `data` of the events; ignores other fields.

    Lines end with LF, CRLF or CR. Unlike the standard's, the end of the stream completes an event: see `flush`.
    """

    __slots__ = ("_data", "_data_bytes", "_ended_with_cr", "_is_started", "_max_event_bytes", "_unfinished")

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._unfinished = bytearray()
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._ended_with_cr = False
        self._is_started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events completed by this chunk. Raises ResponseTooLarge for an overlong event."""
        if self._ended_with_cr or b"\r" in chunk:
            chunk = self._normalise_line_breaks(chunk)
        first, line_break, rest = chunk.partition(b"\n")
        if not line_break:
            # Extended in place: a long line in many chunks is copied once.
            self._unfinished += chunk
            self._check(len(self._unfinished))
            return []
        lines = rest.split(b"\n")
        if self._unfinished:
            first = bytes(self._unfinished) + first
        if not self._is_started:
            first = first.removeprefix(_BYTE_ORDER_MARK)
            self._is_started = True
        self._unfinished = bytearray(lines.pop())
        self._check(len(self._unfinished))
        return self._read_lines([first, *lines])

    def flush(self) -> list[bytes]:
        """Return the event completed by the end of the stream: some servers omit the last line break."""
        events = self.feed(b"\n\n")
        self._unfinished.clear()
        return events

    def _normalise_line_breaks(self, chunk: bytes) -> bytes:
        """Return the chunk with LF only. CR ends a line at once; an LF that follows in the next chunk is part of it."""
        if not chunk:
            return chunk
        if self._ended_with_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        # An LF alone has been the rest of a line break, and what follows it begins a line.
        self._ended_with_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _read_lines(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if line[:5] == b"data:":
                value = line[6:] if line[5:6] == b" " else line[5:]
            elif line:
                if line != b"data":  # a comment, or another field
                    continue
                value = b""
            elif data:
                events.append(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
                self._data_bytes = 0
                continue
            else:
                continue
            self._data_bytes += len(value) + 1
            if self._data_bytes > self._max_event_bytes:
                raise ResponseTooLarge(SUBJECT, self._max_event_bytes)
            data.append(value)
        return events

    def _check(self, size: int) -> None:
        if size > self._max_event_bytes:
            raise ResponseTooLarge(SUBJECT, self._max_event_bytes)
