"""`next` of one turn cannot run twice at the same time: neither a model call nor a tool call is made twice."""

import asyncio

import pytest

from sophon import Context, Middleware, Next, Pipeline, Services, ToolCall, tool
from sophon.errors import ChainError
from sophon.testing import ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve
from tests.tables import table

ran: list[str] = []


@tool
async def effect() -> str:
    """Have an effect."""
    ran.append("effect")
    await asyncio.sleep(0)
    return "ok"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


async def next_twice(ctx: Context, next: Next) -> None:
    await asyncio.gather(next(ctx), next(ctx))


async def settle_twice(ctx: Context, next: Next) -> None:
    await (next_twice(ctx, next) if ctx.settling else next(ctx))


PLACES: list[tuple[Middleware, int]] = [
    *((next_twice, place) for place in range(1, 12)),
    *((settle_twice, place) for place in (8, 9, 10)),
]


@table(("twice", "place"), PLACES)
async def test_a_middleware_that_calls_next_twice_at_the_same_time_fails_the_turn(
    twice: Middleware, place: int
) -> None:
    ran.clear()
    model = ScriptedModel([[ToolCall("c", "effect")], "done", "done"])
    services = Services(models=model, tools=[effect], clock=VirtualClock())
    chain = twelve(services)
    pipeline = Pipeline.compose(*chain[:place], twice, *chain[place:])
    with pytest.raises(ChainError, match="called next\\(ctx\\) again before"):
        await pipeline.run(services.turn("go", session_id="s", planning="Never"))
    for _ in range(50):  # what the other call of next still does
        await asyncio.sleep(0)
    assert len(model.requests) == 1
    assert len(ran) <= 1
    assert_valid_transcript(await services.history("s"))


async def test_next_may_be_called_several_times_one_after_the_other() -> None:
    async def again(ctx: Context, next: Next) -> None:
        await next(ctx)
        await next(ctx)

    model = ScriptedModel([[ToolCall("c", "effect")], "done", "done"])
    services = Services(models=model, tools=[effect], clock=VirtualClock())
    chain = twelve(services)
    response = await Pipeline.compose(*chain[:7], again, *chain[7:]).run(services.turn("go", planning="Never"))
    assert (response.text, ran) == ("done", ["effect"])
