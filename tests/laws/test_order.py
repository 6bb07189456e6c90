"""The first law: every middleware acts before and after those behind it, and each as often as next is called."""

import pytest

from sophon import Context, Next, Pipeline, Response, Services
from sophon.errors import ChainError


@pytest.fixture
def ctx() -> Context:
    return Services().turn("hello")


def layer(name: str, log: list[str]):
    async def middleware(ctx: Context, next: Next) -> None:
        log.append(f"{name} in")
        await next(ctx)
        log.append(f"{name} out")

    middleware.__name__ = name
    return middleware


def terminal(log: list[str], text: str = "done"):
    async def answer(ctx: Context, next: Next) -> None:
        log.append("answer")
        ctx.response = Response(text)

    return answer


async def test_the_first_is_the_outermost(ctx: Context) -> None:
    log: list[str] = []

    await Pipeline.compose(layer("a", log), layer("b", log), terminal(log)).run(ctx)

    assert log == ["a in", "b in", "answer", "b out", "a out"]


async def test_run_gives_what_the_terminal_set(ctx: Context) -> None:
    response = await Pipeline.compose(terminal([], "forty-two")).run(ctx)

    assert (response.text, response.finish_reason) == ("forty-two", "stop")


async def test_not_calling_next_ends_the_turn_there(ctx: Context) -> None:
    log: list[str] = []

    async def gate(ctx: Context, next: Next) -> None:
        ctx.response = Response("no", "rejected")

    response = await Pipeline.compose(layer("a", log), gate, layer("b", log), terminal(log)).run(ctx)

    assert response.text == "no"
    assert log == ["a in", "a out"]


@pytest.mark.parametrize("times", [1, 2, 3, 100])
async def test_next_may_be_called_many_times(ctx: Context, times: int) -> None:
    log: list[str] = []

    async def again(ctx: Context, next: Next) -> None:
        for _ in range(times):
            await next(ctx)

    await Pipeline.compose(again, layer("b", log), terminal(log)).run(ctx)

    assert log == ["b in", "answer", "b out"] * times


async def test_an_object_with_an_async_call_is_a_middleware(ctx: Context) -> None:
    class Stamp:
        async def __call__(self, ctx: Context, next: Next, /) -> None:
            await next(ctx)
            assert ctx.response is not None
            ctx.response = Response(ctx.response.text + "!")

    assert (await Pipeline.compose(Stamp(), terminal([])).run(ctx)).text == "done!"


async def test_falling_off_the_end_names_the_last_middleware(ctx: Context) -> None:
    log: list[str] = []

    with pytest.raises(ChainError, match="after last"):
        await Pipeline.compose(layer("first", log), layer("last", log)).run(ctx)


async def test_a_turn_without_a_response_names_the_middleware_that_stopped_it(ctx: Context) -> None:
    async def forgetful(ctx: Context, next: Next) -> None:
        return

    with pytest.raises(ChainError, match="forgetful"):
        await Pipeline.compose(layer("a", []), forgetful, terminal([])).run(ctx)


async def test_one_pipeline_runs_any_number_of_turns() -> None:
    services = Services()
    log: list[str] = []
    pipeline = Pipeline.compose(layer("a", log), terminal(log))

    for _ in range(3):
        await pipeline.run(services.turn("again"))

    assert log == ["a in", "answer", "a out"] * 3
