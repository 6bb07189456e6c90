"""Events of a streamed response: network reads to lists of events."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from sophon.models.providers.byte_timeout import ByteTimeout

if TYPE_CHECKING:
    from sophon.models.providers.http.response import HttpResponse

TICK_SECONDS = 0.05
"""Time between two reads of paced streams; all streams of an event loop are read at the same moments."""

START_SECONDS = 0.25
"""Time from the first data of a stream in which nothing waits: the first token and short replies are never late."""

MAX_READ_BYTES = 16 * 1024
"""A read of this size or more is worth its wake-up: what follows it does not wait, and the stream flows freely."""


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

    __slots__ = ("_byte_timeout", "_data", "_decoder", "_is_at_end", "_pacer")

    def __init__(self, response: "HttpResponse", decoder: StreamDecoder, byte_timeout: ByteTimeout) -> None:
        self._pacer = ReadPacer(response)
        self._decoder = decoder
        self._byte_timeout = byte_timeout
        self._is_at_end = False
        self._data = b""

    async def next_events(self) -> list[bytes]:
        """Wait for events and return them, at least one; an empty list at the end of the stream."""
        while not self._is_at_end:
            if self._data:
                await self._pacer.wait(self._data)
            data = self._data = await self._pacer.read()
            self._byte_timeout.reset()
            self._is_at_end = not data
            events = self._decoder.feed(data) if data else self._decoder.flush()
            if events:
                return events
        return []


class ReadPacer:
    """Decides after each read of one stream whether the next one waits for the tick, and waits.

    It waits if data arrives faster than the ticks come, in small pieces; then data is at most a tick late. While it
    waits the transport does not read, so that the flow control of TCP holds.

    Each chunk that arrives alone costs a wake-up of the process and a pass through the HTTP client, many times what its
    text costs. A host sends on what a read has brought at once, so that the tick is the only timer of a reply. At 100
    tokens a second an update adds a few words, which people read as flowing text.
    """

    __slots__ = ("_loop", "_response", "_started_at", "_waited_seconds")

    def __init__(self, response: "HttpResponse") -> None:
        self._response = response
        self._loop = asyncio.get_running_loop()
        self._started_at: float | None = None
        self._waited_seconds = 0.0

    async def read(self) -> bytes:
        """Return what has arrived: see `HttpResponse.read_some`."""
        asked_at = self._loop.time()
        data = await self._response.read_some()
        now = self._loop.time()
        self._waited_seconds = now - asked_at
        if self._started_at is None:
            self._started_at = now
        return data

    async def wait(self, data: bytes) -> None:
        """Wait for the tick if the next read should; `data` is what the last one returned."""
        if self._started_at is None or self._waited_seconds >= TICK_SECONDS or len(data) >= MAX_READ_BYTES:
            return
        if self._loop.time() - self._started_at < START_SECONDS or not self._response.pause():
            return
        try:
            await _ticks_of(self._loop).wait()
        finally:
            self._response.resume()


class ReadTicks:
    """Ticks of one event loop: one timer, which runs only while streams wait for it."""

    __slots__ = ("_timer", "_waiting")

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self) -> None:
        """Return at the next tick."""
        loop = asyncio.get_running_loop()
        if self._timer is None:
            at = (loop.time() // TICK_SECONDS + 1) * TICK_SECONDS
            self._timer = loop.call_at(at, self._tick)
        waiter = loop.create_future()
        self._waiting.append(waiter)
        await waiter

    def _tick(self) -> None:
        waiting, self._waiting, self._timer = self._waiting, [], None
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


_ticks_by_loop: dict[asyncio.AbstractEventLoop, ReadTicks] = {}


def _ticks_of(loop: asyncio.AbstractEventLoop) -> ReadTicks:
    ticks = _ticks_by_loop.get(loop)
    if ticks is None:
        for ended in [each for each in _ticks_by_loop if each.is_closed()]:
            del _ticks_by_loop[ended]
        ticks = _ticks_by_loop[loop] = ReadTicks()
    return ticks
