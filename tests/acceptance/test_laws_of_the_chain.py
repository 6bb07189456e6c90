"""Design 3, the chain: every sentence of it, with middlewares of every shape that the contract permits."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from sophon import Context, Next, Pipeline, Response, Services
from sophon.errors import CompositionError
from sophon_middlewares import (
    AgenticLoop,
    Budget,
    CapabilityRouting,
    ContextWindow,
    LlmInvoker,
    Planning,
    PromptToolBridge,
    ToolExecution,
    ToolFilter,
)
from tests.loop_time import LoopTime


async def end(ctx: Context, next: Next) -> None:
    ctx.response = Response(text="end", finish_reason="stop")


async def through(ctx: Context, next: Next) -> None:
    await next(ctx)


class Noting:
    """A plain class, with no base."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    async def __call__(self, ctx: Context, next: Next) -> None:
        self.log.append(f"{self.name} in")
        try:
            await next(ctx)
        finally:
            self.log.append(f"{self.name} out")

    async def as_a_method(self, ctx: Context, next: Next) -> None:
        await self(ctx, next)

    @classmethod
    async def of_the_class(cls, ctx: Context, next: Next) -> None:
        await next(ctx)

    @staticmethod
    async def static(ctx: Context, next: Next) -> None:
        await next(ctx)


async def run(*middlewares: Any, text: str = "hi") -> Response:
    return await Pipeline.compose(*middlewares).run(Services().turn(text))


async def test_every_shape_of_middleware_is_taken() -> None:
    log: list[str] = []

    async def more(log: list[str], ctx: Context, next: Next, *, name: str = "partial") -> None:
        log.append(name)
        await next(ctx)

    async def other_names(c: Context, call_next: Next, extra: int = 0, *rest: Any, **named: Any) -> None:
        log.append("other names")
        await call_next(c)

    async def positional_only(ctx: Context, next: Next, /) -> None:
        log.append("positional only")
        await next(ctx)

    def decorated(function: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> None:
            log.append("wrapped")
            await function(*args, **kwargs)

        return wrapper

    noting = Noting("object", log)
    chain = (
        noting,
        Noting("method", log).as_a_method,
        Noting.of_the_class,
        Noting.static,
        functools.partial(more, log),
        functools.partial(functools.partial(more, log), name="partial of a partial"),
        other_names,
        positional_only,
        decorated(through),
        end,
    )
    assert (await run(*chain)).text == "end"
    assert log == [
        "object in", "method in", "partial", "partial of a partial", "other names", "positional only", "wrapped",
        "method out", "object out",
    ]  # fmt: skip


def plain(ctx: Context, next: Next) -> None:
    pass


async def three(ctx: Context, next: Next, services: Services) -> None:
    pass


async def keyword_only(*, ctx: Context, next: Next) -> None:
    pass


async def generator(ctx: Context, next: Next) -> Any:
    yield


CULPRITS: list[tuple[Any, str]] = [
    (None, "None"),
    ("a text", "a text"),
    (three, "three"),
    (keyword_only, "keyword_only"),
    (generator, "generator"),
    (lambda one, two: None, "lambda"),  # pyright: ignore[reportUnknownLambdaType] - refused anyway
    (functools.partial(plain), "plain"),
    ([through], "list"),
]


@pytest.mark.parametrize(("culprit", "name"), CULPRITS)
def test_what_is_no_middleware_is_named_at_build_time(culprit: Any, name: str) -> None:
    with pytest.raises(CompositionError, match=name):
        Pipeline.compose(through, culprit, end)


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ((ToolExecution(), AgenticLoop(), LlmInvoker()), ("AgenticLoop", "ToolExecution")),
        ((CapabilityRouting(), Budget(), LlmInvoker()), ("Budget", "CapabilityRouting")),
        ((AgenticLoop(), Planning(), ToolExecution(), LlmInvoker()), ("Planning", "AgenticLoop")),
        ((PromptToolBridge(), ContextWindow(), LlmInvoker()), ("ContextWindow", "PromptToolBridge")),
        ((PromptToolBridge(), ToolFilter(), LlmInvoker()), ("ToolFilter", "PromptToolBridge")),
        ((AgenticLoop(), ToolExecution(), LlmInvoker(), LlmInvoker()), ("LlmInvoker",)),
    ],
)
def test_a_wrong_chain_names_its_culprits(chain: tuple[Any, ...], words: tuple[str, ...]) -> None:
    with pytest.raises(CompositionError) as error:
        Pipeline.compose(*chain)
    for word in words:
        assert word in str(error.value)


def test_a_class_of_ones_own_declares_its_place_by_name() -> None:
    class Guard:
        requires = ("ToolExecution",)
        before = ("ToolExecution",)

        async def __call__(self, ctx: Context, next: Next) -> None:
            await next(ctx)

    with pytest.raises(CompositionError, match=r"Guard.*ToolExecution"):
        Pipeline.compose(Guard(), LlmInvoker())
    with pytest.raises(CompositionError, match=r"Guard.*ToolExecution"):
        Pipeline.compose(AgenticLoop(), ToolExecution(), Guard(), LlmInvoker())
    Pipeline.compose(AgenticLoop(), Guard(), ToolExecution(), LlmInvoker())


async def test_next_may_be_called_at_the_same_time() -> None:
    async def both(ctx: Context, next: Next) -> None:
        await asyncio.gather(next(ctx), next(ctx))

    assert (await run(both, through, end)).text == "end"


@pytest.mark.parametrize("how", ["task", "anyio", "timeout", "wait_for"])
async def test_cancelling_in_any_way_runs_finally_innermost_first_and_is_not_swallowed(how: str) -> None:
    log: list[str] = []
    started = asyncio.Event()

    async def hang(ctx: Context, next: Next) -> None:
        started.set()
        await asyncio.Event().wait()

    pipeline = Pipeline.compose(Noting("a", log), Noting("b", log), hang)
    ctx = Services().turn("hi")
    if how == "task":
        task = asyncio.create_task(pipeline.run(ctx))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    elif how == "anyio":
        async with anyio.create_task_group() as group:

            async def turn() -> None:
                await pipeline.run(ctx)

            group.start_soon(turn)
            await started.wait()
            group.cancel_scope.cancel()
    elif how == "timeout":
        with LoopTime() as time:
            async with asyncio.TaskGroup() as group:
                group.create_task(time.advance_after(started, 60))
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(60):
                        await pipeline.run(ctx)
    else:
        with LoopTime() as time:
            async with asyncio.TaskGroup() as group:
                group.create_task(time.advance_after(started, 60))
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(pipeline.run(ctx), 60)
    assert log == ["a in", "b in", "b out", "a out"]
