"""A turn without a response names the middleware that is at fault, not the one that was entered last."""

import functools
import logging

import pytest

from sophon import Context, Next, Pipeline, Response, Services
from sophon.chain.pipeline import Middleware
from sophon.errors import ChainError, CompositionError, ModelError
from sophon.testing import FunctionModel, ScriptedModel
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, ToolExecution
from sophon_middlewares.chains import twelve


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


@pytest.mark.parametrize("mistake", [forgets, Returns(), traced(forgets), functools.partial(forgets)])
def test_a_forgotten_await_is_refused_when_the_chain_is_composed(mistake: Middleware) -> None:
    with pytest.raises(CompositionError, match=r"argument 1 of compose, (forgets|Returns), calls next\(ctx\) and does"):
        Pipeline.compose(mistake, LlmInvoker())


@pytest.mark.parametrize(
    "chain", [[assigns, LlmInvoker()], [passes, *INNER, assigns, LlmInvoker()]], ids=["bare", "loop"]
)
async def test_a_coroutine_that_nobody_awaits_is_that_of_the_middleware_before(chain: list[object]) -> None:
    services = Services()
    with pytest.raises(ChainError, match=r"LlmInvoker never ended: assigns called next\(ctx\) and did not await it"):
        await Pipeline.compose(*chain).run(services.turn("hi"))  # type: ignore[arg-type] - middlewares


@pytest.mark.parametrize("position", [1, 5], ids=["outer", "in the loop"])
async def test_a_swallowed_exception_of_a_model_is_named_with_who_swallowed_it(position: int) -> None:
    chain: list[object] = [passes, *INNER, passes, LlmInvoker()]
    chain.insert(position, careless)
    services = Services(models=ScriptedModel([ModelError("no money left")]))
    ctx = services.turn("hi")
    with pytest.raises(ChainError, match=r"careless caught .*no money left.* and returned without raising it"):
        await Pipeline.compose(*chain).run(ctx)  # type: ignore[arg-type] - middlewares
    assert ctx.response is None


async def test_in_the_default_chain_too() -> None:
    services = Services(models=ScriptedModel([ModelError("no money left")]))
    record, *others = twelve(services)
    with pytest.raises(ChainError, match="careless caught"):
        await Pipeline.compose(record, careless, *others).run(services.turn("hi"))


async def test_a_swallowed_exception_of_another_middleware_names_both() -> None:
    with pytest.raises(ChainError, match=r"ended in breaks with no response.* or it raised and careless swallowed"):
        await Pipeline.compose(careless, passes, breaks, LlmInvoker()).run(Services().turn("hi"))


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
    assert ctx.failed_call is None


@pytest.mark.parametrize(
    ("given", "problem"), [("hi", r"'hi' is not a turn: write pipeline.run\(services.turn\('hi'\)\)")]
)
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
