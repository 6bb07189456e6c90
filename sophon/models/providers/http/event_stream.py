"""Events of a streamed response: network reads to lists of events."""

from typing import TYPE_CHECKING, Protocol

from sophon.models.providers.http.read_pacing import ReadPacer
from sophon.models.providers.idle_timeout import IdleTimeout

if TYPE_CHECKING:
    from sophon.models.providers.http.response import HttpResponse


class StreamDecoder(Protocol):
    """Incremental decoder of a framing: `SseDecoder`, or one for lines of JSON."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the events completed by this chunk."""
        ...

    def flush(self) -> list[bytes]:
        """Return the events completed by the end of the stream."""
        ...


class EventStream:
    """Events of one response, several at a time: all that one read from the network has completed.

    A stream of many small pieces is read at intervals: see `ReadPacer`. Each read restarts the idle timeout, whatever
    it holds. Errors are those of `HttpResponse` and of the decoder.
    """

    __slots__ = ("_data", "_decoder", "_idle_timeout", "_is_at_end", "_pacer")

    def __init__(self, response: "HttpResponse", decoder: StreamDecoder, idle_timeout: IdleTimeout) -> None:
        self._pacer = ReadPacer(response)
        self._decoder = decoder
        self._idle_timeout = idle_timeout
        self._is_at_end = False
        self._data = b""

    async def next_events(self) -> list[bytes]:
        """Wait for events and return them, at least one; an empty list at the end of the stream."""
        while not self._is_at_end:
            if self._data:
                await self._pacer.wait(self._data)
            data = self._data = await self._pacer.read()
            self._idle_timeout.reset()
            self._is_at_end = not data
            events = self._decoder.feed(data) if data else self._decoder.flush()
            if events:
                return events
        return []
