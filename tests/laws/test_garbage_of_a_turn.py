"""A turn leaves nothing for the cyclic collector: all its objects are freed when it ends."""

import asyncio
import gc

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.testing import EventRecorder, FunctionModel
from sophon_middlewares.chains import twelve
from tests.tables import table

TURNS = 10


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def model(rounds: int, calls: int) -> FunctionModel:
    """So many rounds of calls, then a streamed answer."""
    left = rounds

    async def answer(request: ModelRequest) -> ModelResponse:
        nonlocal left
        if not left:
            left = rounds
            return ModelResponse("done")
        left -= 1
        return ModelResponse(tool_calls=[ToolCall(f"c{left}-{n}", "add", {"a": left, "b": n}) for n in range(calls)])

    return FunctionModel(answer)


@table("stream", [False, True])
@table(("rounds", "calls"), [(0, 0), (5, 1), (2, 4)])
@table("limit", [None, 10**9])
async def test_the_collector_finds_nothing_of_a_turn(rounds: int, calls: int, stream: bool, limit: int | None) -> None:
    settings = {"Budget": {"Providers": {"*": {"DailyTokens": limit}}}}
    services = Services(models=model(rounds, calls), tools=[add], events=Forgetful(), settings=settings)
    chain = twelve(services)

    async def run() -> None:
        for _ in range(TURNS):
            await chain.run(services.turn("go", stream=stream))
        await asyncio.sleep(0)

    await run()
    gc.collect()
    gc.freeze()  # of what lives on, and of which there may be much, nothing is to be found
    gc.disable()
    try:
        await run()
        assert gc.collect() == 0
    finally:
        gc.enable()


class Forgetful(EventRecorder):
    """A listener that keeps nothing."""

    def emit(self, event: object, /) -> None:
        """Keep nothing."""
