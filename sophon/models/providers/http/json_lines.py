"""JSON lines decoder (NDJSON): network chunks to the lines of a stream. Source: github.com/ndjson/ndjson-spec."""

from sophon.errors import ResponseTooLarge

SUBJECT = "a line of the stream"

_WHITE_SPACE = b" \t\r"


class JsonLinesDecoder:
    """Incremental decoder: accepts chunks split anywhere and returns the lines that are not blank, unparsed.

    Lines end with LF or CRLF; the end of the stream completes a line: see `flush`.
    """

    __slots__ = ("_max_line_bytes", "_unfinished")

    def __init__(self, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._unfinished = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines completed by this chunk. Raises ResponseTooLarge for an overlong line."""
        first, line_break, rest = chunk.partition(b"\n")
        # Extended in place: a long line in many chunks is copied once.
        self._unfinished += first
        self._check(len(self._unfinished))
        if not line_break:
            return []
        lines = [bytes(self._unfinished), *rest.split(b"\n")]
        self._unfinished = bytearray(lines.pop())
        for line in (*lines, self._unfinished):
            self._check(len(line))
        return [stripped for line in lines if (stripped := line.strip(_WHITE_SPACE))]

    def flush(self) -> list[bytes]:
        """Return the line completed by the end of the stream: some servers omit the last line break."""
        return self.feed(b"\n")

    def _check(self, size: int) -> None:
        if size > self._max_line_bytes:
            raise ResponseTooLarge(SUBJECT, self._max_line_bytes)
