"""A turn sets no timer of the event loop for each model call and tool call."""

import asyncio
from collections.abc import Callable

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@pytest.mark.parametrize("calls", [1, 8])
async def test_any_number_of_calls_sets_as_many_timers_as_one(calls: int) -> None:
    left = 20

    async def answer(request: ModelRequest) -> str | ModelResponse:
        nonlocal left
        left -= 1
        if not left:
            return "done"
        return ModelResponse(tool_calls=[ToolCall(f"c{left}-{n}", "add", {"a": left, "b": n}) for n in range(calls)])

    loop, timers = asyncio.get_running_loop(), 0
    set_timer = loop.call_at

    def count(when: float, callback: Callable[..., object], *args: object, context: object = None) -> object:
        nonlocal timers
        timers += 1
        return set_timer(when, callback, *args, context=context)  # type: ignore[arg-type]

    loop.call_at = count  # type: ignore[method-assign, assignment]
    services = Services(models=FunctionModel(answer), tools=[add])
    await twelve(services).run(services.turn("go"))
    assert left == 0
    # The one of the first model call, and the earlier one of the first tool call.
    assert timers <= 2
