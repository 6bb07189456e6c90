"""Functions that block: under a virtual clock a test with them is repeatable, and nothing hangs for good."""

import asyncio
import threading
import time

import pytest

from sophon.testing import VirtualClock
from tests.tables import table


async def test_the_loop_stands_still_so_that_no_thread_is_faster_than_another() -> None:
    clock = VirtualClock()
    log: list[str] = []

    def block(name: str, seconds: float) -> str:
        time.sleep(seconds)  # a blocking function is what is tested
        log.append(name)
        return name

    tasks = [
        clock.run_in_thread(lambda name=name, seconds=seconds: block(name, seconds))
        for name, seconds in (("a", 0.02), ("b", 0.01), ("c", 0))
    ]
    assert await asyncio.gather(*tasks) == ["a", "b", "c"]
    assert log == ["a", "b", "c"]


async def test_functions_that_wait_for_each_other_meet() -> None:
    clock, barrier = VirtualClock(), threading.Barrier(2)
    first, second = await asyncio.gather(clock.run_in_thread(barrier.wait), clock.run_in_thread(barrier.wait))
    assert {first, second} == {0, 1}


async def test_virtual_time_stands_still_while_a_thread_is_at_work() -> None:
    clock, opened = VirtualClock(), threading.Event()
    threading.Timer(0.2, opened.set).start()
    log: list[str] = []

    async def nap() -> None:
        await clock.sleep(1000)
        log.append("slept")

    async def work() -> None:
        await clock.run_in_thread(opened.wait)
        log.append("worked")

    await asyncio.gather(nap(), work())
    assert log == ["worked", "slept"]


async def test_what_a_function_raises_is_raised() -> None:
    def fail() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await VirtualClock().run_in_thread(fail)


@table("abandon", [True, False])
async def test_a_function_that_hangs_is_left_or_waited_for(abandon: bool) -> None:
    clock, opened, ended = VirtualClock(), threading.Event(), threading.Event()

    def hang() -> None:
        opened.wait(5)
        ended.set()

    task = asyncio.ensure_future(clock.run_in_thread(hang, abandon_on_cancel=abandon))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    if not abandon:
        opened.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert abandon is not ended.wait(0.05)
    opened.set()
