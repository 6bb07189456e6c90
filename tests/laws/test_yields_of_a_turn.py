"""A turn lets the loop run whenever something is ready or due, and does not wait for nothing."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.loop_turns import MAX_SECONDS_WITHOUT_PASS, count_due_passes
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve
from tests.loop_time import LoopTime


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


async def with_nothing_waiting() -> None:
    """Let everything of the loop run, so that the last pass is now."""
    while count_due_passes(asyncio.get_running_loop()):
        await asyncio.sleep(0)


@pytest.mark.parametrize("count", [0, 10])
async def test_a_turn_yields_to_nobody_while_nothing_is_ready_or_due(count: int, frozen_time: "FrozenTime") -> None:
    services = Services(models=rounds(count), tools=[add])
    chain = twelve(services)
    await chain.run(services.turn("warm up"))
    await with_nothing_waiting()
    assert await count_yields(chain.run(services.turn("go"))) == 0


async def test_a_turn_that_never_waits_lets_other_tasks_run_between_its_calls() -> None:
    services = Services(models=rounds(10), tools=[add])
    ran = 0

    async def other() -> None:
        nonlocal ran
        while True:
            ran += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(other())
    await twelve(services).run(services.turn("go"))
    task.cancel()
    assert ran >= 21  # one before each of 11 model calls and 10 tool calls


async def test_a_turn_that_never_waits_lets_the_loop_look_for_input_in_time(frozen_time: "FrozenTime") -> None:
    services = Services(models=rounds(10), tools=[add])
    chain = twelve(services)
    await with_nothing_waiting()
    frozen_time.step = MAX_SECONDS_WITHOUT_PASS
    assert await count_yields(chain.run(services.turn("go"))) >= 21


async def test_a_loop_that_does_not_tell_what_is_due_gets_its_passes() -> None:
    class Foreign:
        def time(self) -> float:
            return 0.0

    assert [count_due_passes(Foreign()) for _ in range(3)] == [2, 2, 2]  # type: ignore[arg-type]


async def stop_by_ready_callback(task: asyncio.Task[object], time: LoopTime) -> None:
    asyncio.get_running_loop().call_soon(task.cancel)


async def stop_by_due_timer(task: asyncio.Task[object], time: LoopTime) -> None:
    asyncio.get_running_loop().call_later(5, task.cancel)
    time.advance(6)


@pytest.mark.parametrize("stop", [stop_by_ready_callback, stop_by_due_timer])
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

    services = Services(models=FunctionModel(answer), tools=[effect])
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

    services = Services(models=FunctionModel(answer), tools=[effect])
    with LoopTime() as time, pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await twelve(services).run(services.turn("go"))
    assert ran == []


class FrozenTime:
    """Loop time that goes forward by `step` seconds with each look at it, and not otherwise."""

    def __init__(self, start: float) -> None:
        self.now = start
        self.step = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
async def frozen_time() -> FrozenTime:
    """Replace the running loop's time; the loop ends with the test."""
    loop = asyncio.get_running_loop()
    frozen = FrozenTime(loop.time())
    loop.time = frozen  # type: ignore[method-assign]
    return frozen
