"""A turn without a response names the middleware that is at fault, not the one that was entered last."""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable
from typing import Any

import pytest

from sophon import Context, Message, ModelRequest, Next, Pipeline, Response, Services
from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Middleware
from sophon.errors import ChainError, CompositionError, ModelError
from sophon.models.model import Call
from sophon.testing import FunctionModel, ScriptedModel
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, SessionEvents, ToolExecution
from sophon_middlewares.chains import twelve
from tests.tables import table


async def forgets(ctx: Context, next: Next) -> None:
    next(ctx)  # type: ignore[unused-coroutine]  # noqa: RUF100 - the mistake


class Returns:
    async def __call__(self, ctx: Context, next: Next, /) -> None:
        return next(ctx)  # type: ignore[return-value] - the mistake


async def assigns(ctx: Context, next: Next) -> None:
    rest = next(ctx)
    assert rest is not None
    rest.close()  # type: ignore[attr-defined] - a coroutine, which would warn that nobody awaited it


async def careless(ctx: Context, next: Next) -> None:
    try:
        await next(ctx)
    except Exception:
        logging.getLogger("mine").info("failed")


async def breaks(ctx: Context, next: Next) -> None:
    raise KeyError("a bug")


async def passes(ctx: Context, next: Next) -> None:
    await next(ctx)


def traced(function: Middleware) -> Middleware:
    @functools.wraps(function)
    async def call(ctx: Context, next: Next) -> None:
        await function(ctx, next)

    return call


INNER = (AgenticLoop(), ParallelExecution(), Approval(), ToolExecution())


@table("mistake", [forgets, Returns(), traced(forgets), functools.partial(forgets)])
def test_a_forgotten_await_is_refused_when_the_chain_is_composed(mistake: Middleware) -> None:
    with pytest.raises(CompositionError, match=r"argument 1 of compose, (forgets|Returns), calls next\(ctx\) and does"):
        Pipeline.compose(mistake, LlmInvoker())


@table(
    ("chain", "entered"),
    [
        ([assigns, LlmInvoker()], "LlmInvoker"),
        ([passes, *INNER, assigns, LlmInvoker()], "LlmInvoker"),
        ([passes, assigns, *INNER, LlmInvoker()], "AgenticLoop"),
        ([assigns, passes, LlmInvoker()], "passes"),
    ],
)
async def test_a_coroutine_that_nobody_awaits_is_that_of_the_middleware_before(
    chain: list[object], entered: str
) -> None:
    services = Services()
    with pytest.raises(ChainError, match=rf"{entered} never ended: assigns called next\(ctx\) and did not await it"):
        await Pipeline.compose(*chain).run(services.turn("hi"))  # type: ignore[arg-type] - middlewares


@table("position", range(7))
async def test_a_swallowed_exception_of_a_model_is_named_with_who_swallowed_it(position: int) -> None:
    chain: list[object] = [passes, *INNER, passes, LlmInvoker()]
    chain.insert(position, careless)
    services = Services(models=ScriptedModel([ModelError("no money left")]))
    ctx = services.turn("hi")
    with pytest.raises(ChainError, match=r"careless caught .*no money left.* and returned without raising it"):
        await Pipeline.compose(*chain).run(ctx)  # type: ignore[arg-type] - middlewares
    assert ctx.response is None


async def test_of_several_that_catch_the_one_that_swallowed_is_named() -> None:
    async def outer(ctx: Context, next: Next) -> None:
        await careless(ctx, next)

    async def translates(ctx: Context, next: Next) -> None:
        try:
            await next(ctx)
        except KeyError as error:
            raise ValueError("another") from error

    async def catches_bugs(ctx: Context, next: Next) -> None:
        with contextlib.suppress(KeyError):
            await next(ctx)

    chain = (catches_bugs, careless, passes, breaks, LlmInvoker())
    with pytest.raises(ChainError, match=r"no response: careless caught KeyError\('a bug'\) of breaks"):
        await Pipeline.compose(*chain).run(Services().turn("hi"))
    chain = (careless, catches_bugs, translates, breaks, LlmInvoker())
    with pytest.raises(ChainError, match=r"no response: careless caught ValueError\('another'\) of translates"):
        await Pipeline.compose(*chain).run(Services().turn("hi"))
    with pytest.raises(ChainError, match=r"no response: careless in outer caught KeyError\('a bug'\) of breaks"):
        await Pipeline.compose(outer, breaks, LlmInvoker()).run(Services().turn("hi"))


async def test_what_was_raised_behind_an_answer_is_named_with_who_raised_it() -> None:
    async def breaks_late(ctx: Context, next: Next) -> None:
        await next(ctx)
        ctx.response = None
        raise KeyError("late")

    with pytest.raises(ChainError, match=r"careless caught KeyError\('late'\) of breaks_late"):
        await Pipeline.compose(careless, passes, breaks_late, LlmInvoker()).run(Services().turn("hi"))


async def test_an_error_of_a_call_that_was_made_again_is_not_at_fault() -> None:
    failures = [KeyError("once")]

    async def again(ctx: Context, next: Next) -> None:
        for _ in range(2):
            await careless(ctx, next)

    async def fails_once(ctx: Context, next: Next) -> None:
        if failures:
            raise failures.pop()

    with pytest.raises(ChainError, match=r"ended in fails_once with no response: it returned .*ctx.response$"):
        await Pipeline.compose(again, fails_once, LlmInvoker()).run(Services().turn("hi"))


async def test_an_exception_out_of_a_part_of_a_chain_that_a_middleware_runs_is_named() -> None:
    part = Pipeline.fragment(passes, breaks)

    async def runs_a_part(ctx: Context, next: Next) -> None:
        with contextlib.suppress(KeyError):
            await part(ctx, next)

    with pytest.raises(ChainError, match=r"runs_a_part caught KeyError\('a bug'\) of breaks"):
        await Pipeline.compose(runs_a_part, LlmInvoker()).run(Services().turn("hi"))


async def test_who_neither_calls_next_nor_answers_is_named() -> None:
    async def silent(ctx: Context, next: Next) -> None:
        return

    with pytest.raises(ChainError, match=r"ended in silent with no response: it returned .*ctx.response$"):
        await Pipeline.compose(passes, silent, LlmInvoker()).run(Services().turn("hi"))


async def test_a_middleware_that_answers_in_place_of_a_failed_model_is_none_of_these() -> None:
    async def answers(ctx: Context, next: Next) -> None:
        try:
            await next(ctx)
        except ModelError:
            ctx.response = Response("sorry")

    ctx = Services(models=ScriptedModel([ModelError("no money left")])).turn("hi")
    assert (await Pipeline.compose(answers, LlmInvoker()).run(ctx)).text == "sorry"
    assert ctx.next_error is None


@table(("given", "problem"), [("hi", r"'hi' is not a turn: write pipeline.run\(services.turn\('hi'\)\)")])
async def test_what_is_no_turn_is_refused(given: object, problem: str) -> None:
    with pytest.raises(ChainError, match=problem):
        await twelve(Services()).run(given)  # type: ignore[arg-type] - the mistake


def test_a_list_and_a_factory_are_refused_with_what_to_write() -> None:
    def limited(seconds: int) -> FunctionModel:
        raise NotImplementedError

    with pytest.raises(CompositionError, match=r"write compose\(\*middlewares\)"):
        Pipeline.compose([passes, LlmInvoker()])  # type: ignore[arg-type] - the mistake
    with pytest.raises(CompositionError, match=r"limited, is not callable .* if it makes a middleware, call it"):
        Pipeline.compose(limited, LlmInvoker())  # type: ignore[arg-type] - the mistake


class InBackground:
    async def __call__(self, ctx: Context, next: Next, /) -> None:
        self.task = asyncio.ensure_future(next(ctx))


async def takes_back(ctx: Context, next: Next) -> None:
    await next(ctx)
    ctx.response = None


@table("position", [0, 2, 5])
@table(
    ("mistake", "problem"),
    [
        (InBackground, r"InBackground called next\(ctx\) and did not await it"),
        (lambda: takes_back, r"no response: takes_back set ctx.response to None"),
    ],
)
async def test_neither_a_task_in_the_background_nor_a_response_taken_back_is_blamed_on_another(
    position: int, mistake: Callable[[], object], problem: str
) -> None:
    chain: list[object] = [passes, *INNER, LlmInvoker()]
    chain.insert(position, mistake())
    with pytest.raises(ChainError, match=problem):
        await Pipeline.compose(*chain).run(Services().turn("hi"))  # type: ignore[arg-type] - middlewares


@table("answer", ["hello", Response(None), Response(3)])  # type: ignore[arg-type] - the mistakes
async def test_what_is_no_response_is_told(answer: Any) -> None:
    async def answers(ctx: Context, next: Next) -> None:
        ctx.response = answer

    services = Services()
    with pytest.raises(ChainError, match=r"ctx.response is .*: a middleware sets ctx.response = Response\(text\)"):
        await Pipeline.compose(SessionEvents(), answers).run(services.turn("hi"))


@table("message", [Message("systm", "x"), Message("user", None), "be brief"])  # type: ignore[arg-type]
@table("method", ["append", "insert"])
async def test_a_message_that_no_provider_takes_is_named_and_fails_no_later_turn(message: Any, method: str) -> None:
    async def adds(ctx: Context, next: Next) -> None:
        ctx.messages.append(message) if method == "append" else ctx.messages.insert(0, message)
        await next(ctx)

    model = FunctionModel(echo)
    services = Services(models=model)
    with pytest.raises(ChainError, match=r"(systm|None|be brief).* among ctx.messages: write Message\(role, text\)"):
        await Pipeline.compose(SessionEvents(), adds, LlmInvoker()).run(services.turn("hi", session_id="s"))
    assert model.requests == []
    assert [each.content for each in await services.history("s")] == ["hi"]


async def echo(request: ModelRequest) -> str:
    raise AssertionError("the model was asked")


async def test_a_text_among_the_messages_is_told_with_the_error_that_it_causes() -> None:
    async def adds(ctx: Context, next: Next) -> None:
        ctx.messages.append("be brief")  # type: ignore[arg-type] - the mistake
        await next(ctx)

    async def reads(ctx: Context, next: Next) -> None:
        assert ctx.messages[-1].role

    with pytest.raises(AttributeError) as caught:
        await Pipeline.compose(adds, reads).run(Services().turn("hi"))
    assert "ctx.messages is or has 'be brief'" in caught.value.__notes__[0]


@table("method", ["call_layer", "model_hook"])
@table("answer", [None, "text"])
async def test_a_layer_that_returns_no_response_is_named(method: str, answer: object) -> None:
    async def silent(request: ModelRequest, call: Call) -> Any:
        await call(request)
        return answer

    async def pushes(ctx: Context, next: Next) -> None:
        with getattr(ctx, method)(silent):
            await next(ctx)

    record, *others = twelve(Services())
    with pytest.raises(ChainError, match=r"silent returned (NoneType|str) and not the response"):
        await Pipeline.compose(record, pushes, *others).run(Services().turn("hi"))


async def test_a_layer_that_is_no_function_is_refused_where_it_is_pushed() -> None:
    async def pushes(ctx: Context, next: Next) -> None:
        with ctx.model_hook("mask"):  # type: ignore[arg-type] - the mistake
            await next(ctx)

    with pytest.raises(ChainError, match=r"ctx.model_hook\('mask'\) takes a function"):
        await Pipeline.compose(pushes, LlmInvoker()).run(Services().turn("hi"))


def test_a_turn_without_an_asyncio_loop_is_refused_in_one_sentence() -> None:
    turn = Pipeline.compose(passes, LlmInvoker()).run(Services().turn("hi"))
    with pytest.raises(ChainError, match="a turn runs on asyncio"):
        turn.send(None)


async def leaves_it_to_a_task(ctx: Context, next: Next) -> None:
    left.add(asyncio.ensure_future(next(ctx)))


async def waits_for_a_while(ctx: Context, next: Next) -> None:
    left.add(task := asyncio.ensure_future(next(ctx)))
    await asyncio.wait([task], timeout=0)
    while not asked:
        await asyncio.sleep(0)


async def gives_up(ctx: Context, next: Next) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(next(ctx), 0.01)


left: set[asyncio.Future[None]] = set()
asked: list[ModelRequest] = []


@table("position", [1, 7, 11])
@table("mistake", [leaves_it_to_a_task, waits_for_a_while, gives_up])
async def test_who_does_not_wait_for_the_end_of_next_is_named(mistake: Middleware, position: int) -> None:
    asked.clear()

    async def answer(request: ModelRequest) -> str:
        asked.append(request)
        return await asyncio.get_running_loop().create_future()

    services = Services(models=FunctionModel(answer))
    chain: list[Middleware] = [*twelve(services)]
    chain[position:position] = [passes, mistake, passes]
    try:
        with pytest.raises(ChainError, match=rf"{get_middleware_name(mistake)} (left|caught|called) "):
            await Pipeline.compose(*chain).run(services.turn("hi"))
    finally:
        for task in left:
            task.cancel()
        await asyncio.wait(left or [asyncio.ensure_future(asyncio.sleep(0))])
        left.clear()


async def passes_a_text(ctx: Context, next: Next) -> None:
    text: Any = "hi"
    await next(text)


async def requests_a_text(ctx: Context, next: Next) -> None:
    text: Any = "hi"
    await ctx.complete(ctx.request(text, purpose="title"))


@table(
    ("mistake", "says"),
    [
        (passes_a_text, r"passes_a_text called next\('hi'\): write `await next\(ctx\)`"),
        (requests_a_text, r"ctx.request\('hi'\) takes a list"),
    ],
)
async def test_a_text_in_place_of_the_turn_or_of_messages_is_refused(mistake: Middleware, says: str) -> None:
    with pytest.raises(ChainError, match=says):
        await Pipeline.compose(mistake, LlmInvoker()).run(Services().turn("hi"))
