"""How often a stream is read, counted over a response whose data the test provides."""

import asyncio
from collections.abc import Callable
from typing import Any

from sophon.models.providers.byte_timeout import ByteTimeout
from sophon.models.providers.http.event_stream import MAX_READ_BYTES, START_SECONDS, TICK_SECONDS, EventStream
from sophon.models.providers.http.sse import SseDecoder
from tests.loop_time import LoopTime
from tests.tables import table

EVENT = b"data: x\n\n"


class Stream:
    """Response that holds what has arrived; `pauses` counts how often its reader stopped reading."""

    def __init__(self, data: bytes = EVENT) -> None:
        self.data = data
        self.pauses = 0
        self.is_paused = False
        self.has_end = False
        self.on_read: Callable[[], None] = lambda: None

    async def read_some(self) -> bytes:
        assert not self.is_paused
        self.on_read()
        await asyncio.sleep(0)
        return b"" if self.has_end else self.data

    def pause(self) -> bool:
        if self.has_end:
            return False
        self.pauses += 1
        self.is_paused = True
        return True

    def resume(self) -> None:
        self.is_paused = False


async def read(stream: Any, times: int) -> None:
    async with ByteTimeout(1000) as byte_timeout:
        events = EventStream(stream, SseDecoder(), byte_timeout)
        for _ in range(times):
            assert await events.next_events()


async def test_the_first_quarter_of_a_second_is_never_paced() -> None:
    stream = Stream()
    with LoopTime() as time:
        stream.on_read = lambda: time.advance(START_SECONDS / 100)
        await read(stream, 50)
    assert stream.pauses == 0


async def test_a_fast_stream_is_read_at_the_ticks() -> None:
    stream = Stream()
    with LoopTime() as time:
        stream.on_read = lambda: time.advance(START_SECONDS / 10)
        await read(stream, 1)
        stream.on_read = lambda: None
        time.advance(START_SECONDS)
        await read_on(stream, time)
    assert stream.pauses == 4
    assert not stream.is_paused


def test_a_person_sees_fifteen_updates_a_second_at_least() -> None:
    """Larger leaps would show; a bench that wakes less often would be better with them."""
    assert TICK_SECONDS <= 1 / 15


async def read_on(stream: Any, time: LoopTime) -> None:
    """Read five times, the first of which is long after the beginning; put the clock forward during the waits."""
    async with ByteTimeout(1000) as byte_timeout:
        events = EventStream(stream, SseDecoder(), byte_timeout)
        await events.next_events()
        time.advance(START_SECONDS)
        for _ in range(4):
            reading = asyncio.ensure_future(events.next_events())
            while not reading.done():
                time.advance(TICK_SECONDS / 4)
                await asyncio.sleep(0)


@table("size", [MAX_READ_BYTES, 4 * MAX_READ_BYTES])
async def test_a_stream_in_full_flow_never_waits(size: int) -> None:
    stream = Stream(EVENT * (size // len(EVENT) + 1))
    with LoopTime() as time:
        stream.on_read = lambda: time.advance(START_SECONDS / 20)
        await read(stream, 100)
    assert stream.pauses == 0


async def test_a_slow_stream_never_waits() -> None:
    stream = Stream()
    with LoopTime() as time:
        stream.on_read = lambda: time.advance(2 * TICK_SECONDS)
        await read(stream, 50)
    assert stream.pauses == 0


async def test_a_wait_that_is_cancelled_reads_on() -> None:
    stream = Stream()
    with LoopTime() as time:
        async with ByteTimeout(1000) as byte_timeout:
            events = EventStream(stream, SseDecoder(), byte_timeout)
            await events.next_events()
            time.advance(START_SECONDS)
            reading = asyncio.ensure_future(events.next_events())
            await asyncio.sleep(0)
            assert stream.is_paused
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
    assert not stream.is_paused


async def test_streams_wait_for_one_timer() -> None:
    streams = [Stream() for _ in range(20)]
    loop, calls = asyncio.get_running_loop(), 0
    call_at = loop.call_at

    def counting(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        return call_at(*arguments, **named)

    with LoopTime() as time:
        async with ByteTimeout(1000) as byte_timeout:
            readers = [EventStream(stream, SseDecoder(), byte_timeout) for stream in streams]  # type: ignore[arg-type]
            for reader in readers:
                await reader.next_events()
            time.advance(START_SECONDS)
            loop.call_at = counting  # type: ignore[method-assign]
            try:
                waiting = [asyncio.ensure_future(reader.next_events()) for reader in readers]
                await asyncio.sleep(0)
                time.advance(TICK_SECONDS)
                await asyncio.gather(*waiting)
            finally:
                del loop.call_at
    assert calls == 1
