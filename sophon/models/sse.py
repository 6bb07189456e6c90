"""Server-sent events: bytes as they come from the network into the data of events. Source: WHATWG HTML, 9.2."""

from sophon.errors import ProviderUnavailable

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes without a line break after which a stream is given up."""


class EventStream:
    """Cuts a stream, wherever the network cut it, into the data of its events; all other fields are passed over."""

    __slots__ = ("_data", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that are complete with this piece. Raises ProviderUnavailable for an endless line."""
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST_LINE:
            raise ProviderUnavailable(f"a line of the stream has more than {LONGEST_LINE} bytes")
        events: list[bytes] = []
        for line in lines:
            self._take(line.removesuffix(b"\r"), events)
        return events

    def end(self) -> list[bytes]:
        """What the end of the stream completes: some servers leave out the last line break."""
        events = self.feed(b"\n\n")
        self._rest = b""
        return events

    def _take(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif not line and self._data:
            events.append(b"\n".join(self._data))
            self._data = []
