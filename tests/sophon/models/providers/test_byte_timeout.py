"""An idle timeout ends a silent response; a chunk sets no timer."""

import asyncio
from typing import Any

import pytest

from sophon.errors import ModelTimeout
from sophon.models.providers.byte_timeout import ByteTimeout
from tests.loop_time import LoopTime


class Timers:
    """Counts the timers that are set."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "Timers":
        self._loop = asyncio.get_running_loop()
        call_at = self._loop.call_at

        def counting(*arguments: Any, **named: Any) -> Any:
            self.count += 1
            return call_at(*arguments, **named)

        self._loop.call_at = counting  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        del self._loop.call_at


async def test_a_thousand_chunks_set_one_timer() -> None:
    with Timers() as timers:
        async with ByteTimeout(120) as timeout:
            for _ in range(1000):
                timeout.reset()
    assert timers.count == 1


async def fall_silent(time: LoopTime, seconds: float) -> None:
    time.advance(seconds)
    await asyncio.Event().wait()


async def test_silence_ends_in_a_timeout_and_a_chunk_restarts_it() -> None:
    with LoopTime() as time, pytest.raises(ModelTimeout, match="no data was received for 10 s"):
        await receive_and_fall_silent(time)


async def receive_and_fall_silent(time: LoopTime) -> None:
    async with ByteTimeout(10) as timeout:
        time.advance(9.9)
        await asyncio.sleep(0)
        timeout.reset()
        time.advance(9.9)
        for _ in range(3):
            await asyncio.sleep(0)  # not yet: it was reset
        await fall_silent(time, 0.2)


async def test_a_cancellation_from_outside_stays_one() -> None:
    entered = asyncio.Event()

    async def body() -> None:
        async with ByteTimeout(10):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(body())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
