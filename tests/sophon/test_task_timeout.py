"""A TaskTimeout ends its body in time, and tells its own cancellation from others."""

import asyncio
import contextlib

import pytest

from sophon.clock import Clock, SystemClock
from sophon.task_timeout import TaskTimeout
from sophon.testing import VirtualClock
from tests.loop_time import LoopTime


@pytest.fixture(params=["system", "virtual"])
def clock(request: pytest.FixtureRequest) -> Clock:
    """A clock of each kind."""
    return SystemClock() if request.param == "system" else VirtualClock()


async def test_a_body_that_is_too_slow_ends_with_a_time_out(clock: Clock) -> None:
    limit = TaskTimeout(clock, 0.01)
    with pytest.raises(TimeoutError):
        async with limit:
            await asyncio.Event().wait()
    assert limit.expired()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_body_that_ends_in_time_is_left_alone(clock: Clock) -> None:
    limit = TaskTimeout(clock, 30)
    async with limit:
        await asyncio.sleep(0)
    assert not limit.expired()


async def test_no_time_is_no_limit() -> None:
    clock = VirtualClock()
    limit = TaskTimeout(clock, None)
    async with limit:
        await clock.sleep(1e9)
        limit.pause()
        limit.resume()
    assert not limit.expired()


async def test_no_time_that_is_left_ends_the_body_at_its_first_await(clock: Clock) -> None:
    with pytest.raises(TimeoutError):
        async with TaskTimeout(clock, -1):
            await asyncio.Event().wait()


async def test_a_body_that_swallows_the_time_out_has_expired_all_the_same(clock: Clock) -> None:
    limit = TaskTimeout(clock, 0.01)
    async with limit:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
    assert limit.expired()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_an_error_after_the_time_out_stays_that_error(clock: Clock) -> None:
    limit = TaskTimeout(clock, 0.01)

    async def body() -> None:
        async with limit:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ValueError("own") from None

    with pytest.raises(ValueError, match="own"):
        await body()
    assert limit.expired()


async def test_a_cancellation_that_arrives_with_the_time_out_is_not_turned_into_one() -> None:
    started = asyncio.Event()

    async def body() -> None:
        async with TaskTimeout(SystemClock(), 5):
            started.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(body())
    await started.wait()
    with LoopTime() as time:
        time.advance(6)
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()


async def test_of_two_time_outs_the_outer_one_raises_outside() -> None:
    clock = VirtualClock()
    outer, inner = TaskTimeout(clock, 1), TaskTimeout(clock, 2)
    with pytest.raises(TimeoutError):
        async with outer, inner:
            await asyncio.Event().wait()
    assert [outer.expired(), inner.expired()] == [True, False]


async def test_a_pause_in_the_moment_at_which_the_time_passes_holds_the_end_off() -> None:
    with LoopTime() as time:
        async with TaskTimeout(SystemClock(), 5) as limit:
            asyncio.get_running_loop().call_later(5, limit.pause)
            time.advance(6)
            for _ in range(4):
                await asyncio.sleep(0)
    assert not limit.expired()


async def test_time_in_a_pause_does_not_count_and_the_rest_does() -> None:
    clock = VirtualClock(auto=False)
    limit = TaskTimeout(clock, 10)

    async def work() -> None:
        async with limit:
            limit.pause()
            limit.pause()
            await clock.sleep(1000)
            limit.resume()
            await clock.sleep(1000)
            limit.resume()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await clock.advance(2000)
    await clock.advance(9)
    assert not task.done()
    await clock.advance(1)
    with pytest.raises(TimeoutError):
        await task


async def test_a_pause_outlives_its_body_without_a_timer() -> None:
    limit = TaskTimeout(VirtualClock(auto=False), 10)
    async with limit:
        limit.pause()
    limit.resume()
    assert not limit.expired()
