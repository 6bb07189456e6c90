"""A turn that never waits lets the loop run every 2 ms, and does not wait for nothing."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.cancellation import MAX_SECONDS_WITHOUT_PASS
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve
from tests.loop_time import LoopTime
from tests.tables import table


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def rounds(count: int) -> FunctionModel:
    """A model that never waits: so many rounds of one call, then an answer."""
    left = count

    async def answer(request: ModelRequest) -> str | ModelResponse:
        nonlocal left
        if not left:
            left = count
            return "done"
        left -= 1
        return ModelResponse(tool_calls=[ToolCall(f"c{left}", "add", {"a": left, "b": 1})])

    return FunctionModel(answer)


async def count_yields(work: Awaitable[object]) -> int:
    """Drive the work by hand and count how often it gives control back."""
    steps, yields = work.__await__(), 0
    while True:
        try:
            next(steps)
        except StopIteration:
            return yields
        yields += 1
        await asyncio.sleep(0)


class SteppedClock(VirtualClock):
    """Clock that goes forward by `step` seconds with each look at it."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self._now, self.step = 0.0, step

    def monotonic(self) -> float:
        """Return the time after one more step."""
        self._now += self.step
        return self._now


def stepped(model: FunctionModel, step: float) -> Services:
    return Services(models=model, tools=[add], clock=SteppedClock(step))


@table("count", [0, 10])
async def test_a_turn_of_less_than_two_milliseconds_yields_to_nobody(count: int) -> None:
    services = stepped(rounds(count), MAX_SECONDS_WITHOUT_PASS / 1e6)
    chain = twelve(services)
    await chain.run(services.turn("warm up"))
    assert await count_yields(chain.run(services.turn("go"))) == 0


@table("step", [MAX_SECONDS_WITHOUT_PASS, 0])
async def test_a_turn_that_never_waits_lets_the_loop_run_between_its_calls(step: float) -> None:
    services = stepped(rounds(10), step)
    assert await count_yields(twelve(services).run(services.turn("go"))) >= 21  # before 11 model calls, 10 tool calls


async def test_turns_that_never_wait_let_other_tasks_run() -> None:
    services = Services(models=rounds(10), tools=[add])
    chain, ran = twelve(services), asyncio.Event()
    asyncio.get_running_loop().call_soon(ran.set)
    while not ran.is_set():
        await chain.run(services.turn("go"))


async def stop_by_ready_callback(task: asyncio.Task[object], time: LoopTime) -> None:
    asyncio.get_running_loop().call_soon(task.cancel)


async def stop_by_due_timer(task: asyncio.Task[object], time: LoopTime) -> None:
    asyncio.get_running_loop().call_later(5, task.cancel)
    time.advance(6)


@table("stop", [stop_by_ready_callback, stop_by_due_timer])
async def test_a_cancellation_that_is_ready_or_due_stops_a_turn_before_its_tools(
    stop: Callable[[asyncio.Task[object], LoopTime], Awaitable[None]],
) -> None:
    ran: list[str] = []

    @tool
    async def effect() -> str:
        """Have an effect."""
        ran.append("effect")
        return "ok"

    async def answer(request: ModelRequest) -> ModelResponse:
        task = asyncio.current_task()
        assert task is not None
        await stop(task, time)
        return ModelResponse(tool_calls=[ToolCall("c", "effect")])

    services = Services(models=FunctionModel(answer), tools=[effect], clock=SteppedClock(MAX_SECONDS_WITHOUT_PASS))
    with LoopTime() as time:
        task = asyncio.ensure_future(twelve(services).run(services.turn("go")))
        await asyncio.wait([task])
    assert task.cancelled()
    assert ran == []


async def test_a_time_out_around_the_turn_that_is_due_stops_it_before_its_tools() -> None:
    ran: list[str] = []

    @tool
    async def effect() -> str:
        """Have an effect."""
        ran.append("effect")
        return "ok"

    async def answer(request: ModelRequest) -> ModelResponse:
        time.advance(6)
        return ModelResponse(tool_calls=[ToolCall("c", "effect")])

    services = Services(models=FunctionModel(answer), tools=[effect], clock=SteppedClock(MAX_SECONDS_WITHOUT_PASS))
    with LoopTime() as time, pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await twelve(services).run(services.turn("go"))
    assert ran == []
