"""Design 3, the chain: every sentence of it, with middlewares of every shape that the contract permits."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from sophon import Context, Middleware, Next, Pipeline, Response, Services, SophonError, ToolCall, tool
from sophon.errors import ChainError, CompositionError
from sophon.testing import FunctionModel, ScriptedModel
from sophon_middlewares import (
    AgenticLoop,
    Approval,
    Budget,
    CapabilityRouting,
    ContextWindow,
    LlmInvoker,
    ParallelExecution,
    Planning,
    PromptToolBridge,
    SessionEvents,
    ToolExecution,
    ToolFilter,
)
from sophon_middlewares.chains import twelve
from tests.loop_time import LoopTime


async def end(ctx: Context, next: Next) -> None:
    ctx.response = Response(text="end", finish_reason="stop")


async def through(ctx: Context, next: Next) -> None:
    await next(ctx)


async def silent(ctx: Context, next: Next) -> None:
    pass


async def hello(request: Any) -> str:
    return "hello"


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


async def test_a_callable_object_with_an_async_method_behind_a_bound_call_is_taken() -> None:
    class Outer:
        async def __call__(self, ctx: Context, next: Next) -> None:
            await next(ctx)

    assert (await run(Outer().__call__, functools.partial(Outer().__call__), end)).text == "end"
    assert (await run(functools.partial(Outer()), end)).text == "end"


def plain(ctx: Context, next: Next) -> None:
    pass


async def one(ctx: Context) -> None:
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
    (42, "42"),
    (plain, "plain"),
    (one, "one"),
    (three, "three"),
    (keyword_only, "keyword_only"),
    (generator, "generator"),
    (AgenticLoop, "AgenticLoop"),
    (lambda one, two: None, "lambda"),  # pyright: ignore[reportUnknownLambdaType] - refused anyway
    (functools.partial(plain), "plain"),
    ([through], "list"),
]


@pytest.mark.parametrize(("culprit", "name"), CULPRITS)
def test_what_is_no_middleware_is_named_at_build_time(culprit: Any, name: str) -> None:
    with pytest.raises(CompositionError, match=name):
        Pipeline.compose(through, culprit, end)


def test_a_lambda_that_gives_an_awaitable_is_refused_too() -> None:
    with pytest.raises(SophonError, match=r"lambda.*async"):
        Pipeline.compose(lambda ctx, call: call(ctx), end)  # pyright: ignore[reportArgumentType] - refused


def test_an_empty_chain_is_refused() -> None:
    with pytest.raises(CompositionError):
        Pipeline.compose()


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ((LlmInvoker(), through), ("through", "LlmInvoker")),
        ((AgenticLoop(), AgenticLoop(), ToolExecution(), LlmInvoker()), ("AgenticLoop", "twice")),
        ((ToolExecution(), AgenticLoop(), LlmInvoker()), ("AgenticLoop", "ToolExecution")),
        ((AgenticLoop(), ToolExecution(), Approval(), LlmInvoker()), ("Approval", "ToolExecution")),
        ((AgenticLoop(), Approval(), LlmInvoker()), ("Approval", "ToolExecution")),
        ((AgenticLoop(), ParallelExecution(), LlmInvoker()), ("ParallelExecution", "ToolExecution")),
        ((Budget(), SessionEvents(), LlmInvoker()), ("SessionEvents", "Budget")),
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


def test_a_replacement_stands_in_by_what_it_provides() -> None:
    class MyExecution:
        provides = ("ToolExecution",)

        async def __call__(self, ctx: Context, next: Next) -> None:
            await next(ctx)

    Pipeline.compose(AgenticLoop(), ParallelExecution(), Approval(), MyExecution(), LlmInvoker())
    with pytest.raises(CompositionError, match="Approval"):
        Pipeline.compose(AgenticLoop(), MyExecution(), Approval(), LlmInvoker())


async def test_falling_off_the_end_names_the_place() -> None:
    with pytest.raises(ChainError, match="through"):
        await run(through)


async def test_a_turn_without_a_response_names_the_place() -> None:
    with pytest.raises(ChainError, match="silent"):
        await run(through, silent)


async def test_a_nested_gate_that_stops_does_stop() -> None:
    reached: list[str] = []

    async def behind(ctx: Context, next: Next) -> None:
        reached.append("behind")
        ctx.response = Response("behind")

    assert (await run(Pipeline.compose(through, end), behind)).text == "end"
    assert not reached


async def test_a_nested_gate_that_calls_next_goes_on() -> None:
    inner = Pipeline.compose(through, through)
    assert len(Pipeline.compose(inner, end)) == 3
    assert (await run(inner, Pipeline.compose(inner, inner), end)).text == "end"


async def test_a_pipeline_called_directly_binds_next_for_that_call() -> None:
    seen: list[str] = []
    inner = Pipeline.compose(Noting("inner", seen), through)

    async def calls_it(ctx: Context, next: Next) -> None:
        await inner(ctx, next)
        await inner(ctx, end_with("other"))

    def end_with(text: str) -> Next:
        async def call(ctx: Context) -> None:
            seen.append(f"{text} after {ctx.response.text if ctx.response else None}")
            ctx.response = Response(text)

        return call

    assert (await run(calls_it, end)).text == "other"
    assert seen == ["inner in", "inner out", "inner in", "other after end", "inner out"]


async def test_a_nested_pipeline_alone_that_falls_off_raises() -> None:
    with pytest.raises(ChainError):
        await run(Pipeline.compose(through), through)


async def test_next_may_be_called_many_times() -> None:
    log: list[str] = []

    async def thrice(ctx: Context, next: Next) -> None:
        for _ in range(3):
            await next(ctx)

    await run(thrice, Noting("in", log), end)
    assert log == ["in in", "in out"] * 3


async def test_next_may_be_called_at_the_same_time() -> None:
    async def both(ctx: Context, next: Next) -> None:
        await asyncio.gather(next(ctx), next(ctx))

    assert (await run(both, through, end)).text == "end"


async def test_a_retry_of_a_failed_rest_answers() -> None:
    tries: list[int] = []

    async def retry(ctx: Context, next: Next) -> None:
        for _ in range(3):
            try:
                return await next(ctx)
            except ValueError:
                continue
        raise AssertionError("never")

    async def shaky(ctx: Context, next: Next) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("shaky")
        await next(ctx)

    assert (await run(retry, shaky, end)).text == "end"


async def test_an_error_leaves_as_itself_and_finally_runs_innermost_first() -> None:
    log: list[str] = []

    async def breaks(ctx: Context, next: Next) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await run(Noting("a", log), Noting("b", log), Noting("c", log), breaks)
    assert log == ["a in", "b in", "c in", "c out", "b out", "a out"]


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


async def test_one_instance_serves_turns_that_interleave() -> None:
    both = asyncio.Barrier(2)

    async def meet(ctx: Context, next: Next) -> None:
        await both.wait()
        await next(ctx)

    async def echo(ctx: Context, next: Next) -> None:
        ctx.response = Response(ctx.text)

    services, pipeline = Services(), Pipeline.compose(meet, echo)
    answers = await asyncio.gather(pipeline.run(services.turn("a")), pipeline.run(services.turn("b")))
    assert [each.text for each in answers] == ["a", "b"]


async def test_the_response_is_the_contexts() -> None:
    ctx = Services().turn("hi")
    assert ctx.response is None
    response = await Pipeline.compose(end).run(ctx)
    assert response is ctx.response
    assert (response.text, response.finish_reason, response.tool_calls) == ("end", "stop", [])


async def test_explain_names_all_twelve_in_order_with_their_zones() -> None:
    text = twelve(Services()).explain()
    names = [
        "SessionEvents", "Budget", "CapabilityRouting", "ContextWindow", "ToolFilter", "PromptToolBridge", "Planning",
        "AgenticLoop", "ParallelExecution", "Approval", "ToolExecution", "LlmInvoker",
    ]  # fmt: skip
    places = [text.index(name) for name in names]
    assert places == sorted(places)
    assert "outer" in text
    assert "inner" in text


async def test_explain_shows_functions_partials_and_objects_of_ones_own() -> None:
    text = Pipeline.compose(Noting("x", []), functools.partial(through), through, end).explain()
    assert text.index("Noting") < text.index("through") < text.index("end")


async def test_the_readme_chain_runs_with_the_turns_services() -> None:
    timed: list[float] = []

    async def timing(ctx: Context, next: Next) -> None:
        timed.append(1)
        await next(ctx)

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    model = ScriptedModel([[ToolCall(id="1", name="add", arguments={"a": 1, "b": 2})], "three"])
    services = Services(models=model, tools=[add])
    custom = Pipeline.compose(timing, AgenticLoop(), ToolExecution(), LlmInvoker())
    response = await custom.run(services.turn("1 + 2?"))
    assert response.text == "three"
    assert model.requests[1].messages[-1].content == "3"
    model.close()


async def test_the_same_chain_object_serves_other_services() -> None:
    chain = Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker())
    for word in ("one", "two"):
        services = Services(models=ScriptedModel([word]))
        assert (await chain.run(services.turn("hi"))).text == word


async def test_the_model_alone_is_a_chain() -> None:
    services = Services(models=FunctionModel(hello))
    assert (await Pipeline.compose(LlmInvoker()).run(services.turn("hi"))).text == "hello"


def test_a_loop_without_tool_execution_is_refused() -> None:
    with pytest.raises(CompositionError, match="AgenticLoop requires ToolExecution"):
        Pipeline.compose(AgenticLoop(), LlmInvoker())


async def test_a_middleware_around_the_inner_zone_sees_both_passes() -> None:
    passes: list[bool] = []

    async def watch(ctx: Context, next: Next) -> None:
        passes.append(ctx.settling)
        await next(ctx)

    services = Services(models=ScriptedModel([[ToolCall("1", "calculator", {"expression": "1+1"})], "2"]))
    chain = Pipeline.compose(AgenticLoop(), watch, ToolExecution(), LlmInvoker())
    assert (await chain.run(services.turn("hi"))).text == "2"
    assert passes == [False, True, False]


async def test_a_settling_pass_never_reaches_the_model_even_if_every_call_was_refused() -> None:
    async def refuse(ctx: Context, next: Next) -> None:
        for call in list(ctx.pending):
            ctx.settle(call, "error: not today", "denied")
        await next(ctx)

    model = ScriptedModel([[ToolCall("1", "calculator", {"expression": "1"}), ToolCall("2", "datetime.now", {})], "ok"])
    chain = Pipeline.compose(AgenticLoop(), ParallelExecution(), refuse, ToolExecution(), LlmInvoker())
    assert (await chain.run(Services(models=model).turn("hi"))).text == "ok"
    assert [m.content for m in model.requests[1].messages if m.role == "tool"] == ["error: not today"] * 2


async def test_a_guards_exception_ends_the_turn_as_itself_and_siblings_finish() -> None:
    done: list[str] = []

    @tool
    async def slow() -> str:
        """Be slow."""
        for _ in range(5):
            await asyncio.sleep(0)
        done.append("slow")
        return "ok"

    @tool
    async def other() -> str:
        """Other."""
        return "ok"

    async def guard(ctx: Context, next: Next) -> None:
        for call in list(ctx.pending) if ctx.settling else ():
            if call.name == "other":
                raise PermissionError(f"no {call.id}")
        await next(ctx)

    model = ScriptedModel([[ToolCall("1", "slow"), ToolCall("2", "other"), ToolCall("3", "other")]])
    chain = Pipeline.compose(AgenticLoop(), ParallelExecution(), guard, ToolExecution(), LlmInvoker())
    with pytest.raises(PermissionError, match="no 2"):
        await chain.run(Services(models=model, tools=[slow, other]).turn("hi"))
    assert done == ["slow"]


def test_the_names_of_the_contract_are_where_it_says() -> None:
    protocol: type = Middleware
    assert protocol.__name__ == "Middleware"
    assert isinstance(twelve(Services()), Pipeline)
    assert len(twelve(Services())) == 12
