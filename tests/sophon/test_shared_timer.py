"""The shared timer calls what is due, in order, and needs one timer of the loop for any number of calls."""

import asyncio
import contextvars
import gc
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.clock import SystemClock
from sophon.shared_timer import SharedTimer
from tests.loop_time import LoopTime


class CountingLoop:
    """Counts the timers that are set in the running loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.timers = 0
        self._set = self.loop.call_at
        self.loop.call_at = self._count  # type: ignore[method-assign, assignment]

    def _count(self, when: float, callback: Callable[..., object], *args: object, context: object = None) -> object:
        self.timers += 1
        return self._set(when, callback, *args, context=context)  # type: ignore[arg-type]


async def passes(count: int = 4) -> None:
    """Let the loop run."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_calls_run_when_they_are_due_and_not_before() -> None:
    heard: list[str] = []
    with LoopTime() as time:
        timer = SharedTimer(asyncio.get_running_loop())
        timer.call_later(20, lambda: heard.append("late"))
        timer.call_later(10, lambda: heard.append("early"))
        time.advance(9)
        await passes()
        assert heard == []
        time.advance(2)
        await passes()
        assert heard == ["early"]
        time.advance(10)
        await passes()
        assert heard == ["early", "late"]


async def test_calls_that_are_due_together_run_in_the_order_in_which_they_are_due() -> None:
    heard: list[int] = []
    with LoopTime() as time:
        timer = SharedTimer(asyncio.get_running_loop())
        for seconds in (3, 1, 2, 0, -1):
            timer.call_later(seconds, lambda seconds=seconds: heard.append(seconds))
        time.advance(60)
        await passes()
    assert heard[2:] == [1, 2, 3]
    assert sorted(heard[:2]) == [-1, 0]


async def test_a_call_that_was_cancelled_does_not_run_even_if_both_are_due() -> None:
    heard: list[str] = []
    with LoopTime() as time:
        timer = SharedTimer(asyncio.get_running_loop())
        second = timer.call_later(2, lambda: heard.append("second"))
        timer.call_later(1, second.cancel)
        third = timer.call_later(3, lambda: heard.append("third"))
        third.cancel()
        third.cancel()
        time.advance(60)
        await passes()
    assert heard == []


async def test_a_call_may_be_added_by_a_call() -> None:
    heard: list[str] = []
    with LoopTime() as time:
        timer = SharedTimer(asyncio.get_running_loop())
        timer.call_later(1, lambda: timer.call_later(1, lambda: heard.append("second")))
        time.advance(1.5)
        await passes()
        assert heard == []
        time.advance(1.5)
        await passes()
    assert heard == ["second"]


async def test_a_call_that_raises_is_reported_and_the_others_run() -> None:
    heard: list[str] = []
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: reported.append(about["exception"]))

    def fail() -> None:
        raise ValueError("broken")

    with LoopTime() as time:
        timer = SharedTimer(asyncio.get_running_loop())
        timer.call_later(1, fail)
        timer.call_later(2, lambda: heard.append("second"))
        timer.call_later(20, lambda: heard.append("third"))
        time.advance(5)
        await passes()
        time.advance(50)
        await passes()
    assert heard == ["second", "third"]
    assert [str(error) for error in reported] == ["broken"]


async def test_calls_that_end_before_they_are_due_set_no_timer_of_the_loop() -> None:
    counting = CountingLoop()
    timer = SharedTimer(counting.loop)
    for _ in range(1000):
        timer.call_later(30, print).cancel()
    assert counting.timers == 1


async def test_a_shared_timer_keeps_neither_the_context_nor_a_cancelled_call_alive() -> None:
    class Large:
        """Something that a turn holds."""

    variable: contextvars.ContextVar[Large] = contextvars.ContextVar("variable")
    timer = SharedTimer(asyncio.get_running_loop())

    def start() -> list[weakref.ref[Large]]:
        owner, held = Large(), Large()
        variable.set(held)
        timer.call_later(600, lambda: owner).cancel()
        return [weakref.ref(owner), weakref.ref(held)]

    seen = contextvars.copy_context().run(start)
    gc.collect()
    assert [each() for each in seen] == [None, None]


async def test_the_system_clock_uses_one_timer_for_a_loop() -> None:
    counting = CountingLoop()
    clock = SystemClock()
    calls = [clock.call_later(30, print) for _ in range(100)]
    assert counting.timers == 1
    for call in calls:
        call.cancel()


def test_a_system_clock_may_be_used_in_one_loop_after_another() -> None:
    clock = SystemClock()

    async def wait() -> str:
        heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        clock.call_later(0.001, lambda: heard.set_result("heard"))
        return await heard

    assert [asyncio.run(wait()) for _ in range(2)] == ["heard", "heard"]


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=12), st.lists(st.integers(1, 8), max_size=8))
def test_whatever_is_added_runs_once_when_due_unless_it_is_cancelled(
    calls: list[tuple[int, bool]], steps: list[int]
) -> None:
    async def run() -> None:
        heard: list[int] = []
        with LoopTime() as time:
            timer = SharedTimer(asyncio.get_running_loop())
            for number, (seconds, is_cancelled) in enumerate(calls):
                call = timer.call_later(seconds + 0.5, lambda number=number: heard.append(number))
                if is_cancelled:
                    call.cancel()
            passed = 0
            for step in steps:
                time.advance(step)
                passed += step
                await passes()
                assert sorted(heard) == [
                    number for number, (seconds, gone) in enumerate(calls) if not gone and seconds < passed
                ]

    asyncio.run(run())


@pytest.mark.parametrize("seconds", [0, -1])
async def test_a_call_that_is_due_at_once_waits_for_the_next_pass(seconds: float) -> None:
    heard: list[str] = []
    SharedTimer(asyncio.get_running_loop()).call_later(seconds, lambda: heard.append("now"))
    assert heard == []
    await passes()
    assert heard == ["now"]
