"""A test of hours takes microseconds, in the right order, and what hangs is ended by its timeout alone."""

import asyncio
import threading
import time
from datetime import UTC, datetime

import anyio.to_thread
import pytest

from sophon.testing import VirtualClock


async def test_sleeps_end_the_earliest_first_and_carry_time_with_them() -> None:
    clock, log = VirtualClock(), []

    async def nap(seconds: float) -> None:
        await clock.sleep(seconds)
        log.append((seconds, clock.monotonic()))

    await asyncio.gather(*(nap(seconds) for seconds in (7200, 5, 60, 0.5)))

    assert log == [(0.5, 0.5), (5, 5), (60, 60), (7200, 7200)]
    assert clock.now() == datetime(2026, 1, 1, 2, tzinfo=UTC)


async def test_sleeps_that_end_together_end_in_the_order_in_which_they_began() -> None:
    clock, log = VirtualClock(), []

    async def nap(name: str) -> None:
        await clock.sleep(1)
        log.append(name)

    await asyncio.gather(*(nap(name) for name in "abc"))

    assert log == ["a", "b", "c"]


async def test_what_can_run_runs_before_time_moves() -> None:
    clock, log = VirtualClock(), []

    async def busy() -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        log.append("busy")

    async def nap() -> None:
        await clock.sleep(0.001)
        log.append("slept")

    await asyncio.gather(nap(), busy())

    assert log == ["busy", "slept"]


async def test_many_sleepers_are_no_more_work_each_than_few() -> None:
    clock = VirtualClock()

    await asyncio.gather(*(clock.sleep(n % 97 + 1) for n in range(5000)))

    assert clock.monotonic() == 97


async def test_a_sleep_of_nothing_lets_others_run_and_moves_no_time() -> None:
    clock, log = VirtualClock(), []
    other = asyncio.ensure_future(_append(log, "other"))

    await clock.sleep(0)

    assert log == ["other"]
    assert clock.monotonic() == 0
    await other


async def _append(log: list[str], name: str) -> None:
    log.append(name)


async def test_a_timeout_ends_a_longer_sleep_and_leaves_a_shorter_one_alone() -> None:
    clock = VirtualClock()
    async with clock.timeout(10):
        await clock.sleep(9)

    with pytest.raises(TimeoutError):
        async with clock.timeout(10) as limit:
            await clock.sleep(11)

    assert limit.expired()
    assert clock.monotonic() == 19


async def test_a_timeout_of_none_never_ends_and_one_of_nothing_ends_at_once() -> None:
    clock = VirtualClock()
    async with clock.timeout(None):
        await clock.sleep(10**6)

    with pytest.raises(TimeoutError):
        async with clock.timeout(0):
            await asyncio.get_running_loop().create_future()


async def test_a_body_that_hangs_is_ended_by_its_timeout_without_a_busy_loop() -> None:
    clock = VirtualClock()
    worked = time.process_time()

    with pytest.raises(TimeoutError):
        async with clock.timeout(120):
            await asyncio.get_running_loop().create_future()

    assert clock.monotonic() == 120
    assert time.process_time() - worked < 0.1


async def test_a_body_that_moves_now_and_then_does_not_hang() -> None:
    clock, loop = VirtualClock(), asyncio.get_running_loop()

    async with clock.timeout(120):
        for _ in range(30):
            tick = loop.create_future()
            threading.Timer(0.02, lambda tick=tick: loop.call_soon_threadsafe(tick.set_result, None)).start()
            await tick

    assert clock.monotonic() == 0


async def test_a_worker_thread_is_given_the_time_that_a_busy_machine_takes() -> None:
    clock, done = VirtualClock(), threading.Event()

    async with clock.timeout(120):
        await anyio.to_thread.run_sync(lambda: done.wait(0.5))

    assert clock.monotonic() == 0


async def test_a_cancelled_sleep_leaves_nothing_behind() -> None:
    clock = VirtualClock()
    sleeper = asyncio.ensure_future(clock.sleep(1000))
    await asyncio.sleep(0)
    sleeper.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sleeper

    await clock.sleep(1)

    assert clock.monotonic() == 1


async def test_without_auto_time_stands_still_until_it_is_moved() -> None:
    clock, log = VirtualClock(auto=False), []

    async def nap(seconds: float) -> None:
        await clock.sleep(seconds)
        log.append(seconds)

    async with asyncio.TaskGroup() as group:
        group.create_task(nap(5))
        group.create_task(nap(2))
        await clock.advance(1)
        assert log == []
        await clock.advance(1)
        assert log == [2]
        await clock.advance(10)
        assert log == [2, 5]

    assert clock.monotonic() == 12


async def test_advancing_reaches_what_is_started_on_the_way() -> None:
    clock, log = VirtualClock(auto=False), []

    async def twice() -> None:
        for _ in range(2):
            await clock.sleep(2)
            log.append(clock.monotonic())

    async with asyncio.TaskGroup() as group:
        group.create_task(twice())
        await clock.advance(5)

    assert log == [2, 4]
    assert clock.monotonic() == 5


async def test_advancing_fires_a_timeout() -> None:
    clock = VirtualClock(auto=False)

    async def hang() -> str:
        try:
            async with clock.timeout(3):
                await asyncio.get_running_loop().create_future()
        except TimeoutError:
            return "stopped"
        return "never"

    task = asyncio.ensure_future(hang())
    await clock.advance(2.9)
    assert not task.done()
    await clock.advance(0.1)

    assert await task == "stopped"


def test_one_clock_serves_several_event_loops_one_after_the_other() -> None:
    clock = VirtualClock()

    async def leave_one_asleep() -> None:
        asyncio.get_running_loop().create_task(clock.sleep(50))
        await clock.sleep(1)

    for _ in range(3):
        asyncio.run(leave_one_asleep())

    assert clock.monotonic() == 3


def test_what_a_closed_loop_left_behind_does_not_disturb_the_next() -> None:
    clock = VirtualClock()
    loop = asyncio.new_event_loop()
    sleeping = clock.sleep(5)
    abandoned = loop.create_task(sleeping)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()

    asyncio.run(clock.sleep(10))

    assert clock.monotonic() == 10
    assert not abandoned.done()
    sleeping.close()
    abandoned._log_destroy_pending = False  # asyncio would warn of the task that this test abandons on purpose


def test_identifiers_and_chance_repeat_with_the_seed() -> None:
    def draw(seed: int) -> list[object]:
        clock = VirtualClock(seed=seed)
        return [clock.new_id(), clock.new_id(), clock.random(), clock.random()]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert draw(1)[:2] == ["0" * 19 + "1", "0" * 19 + "2"]


def test_time_can_be_moved_where_no_loop_runs() -> None:
    clock = VirtualClock(auto=False)

    clock.advance(5)

    assert clock.monotonic() == 5


async def test_time_moves_without_being_awaited_while_the_loop_goes_on() -> None:
    clock = VirtualClock(auto=False)
    sleeper = asyncio.ensure_future(clock.sleep(5))

    clock.advance(5)
    await sleeper

    assert clock.monotonic() == 5
