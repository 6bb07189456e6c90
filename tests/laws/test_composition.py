"""What cannot work is refused when the chain is made, and the culprit is named."""

import functools

import pytest

from sophon import Context, Next, Pipeline, Response
from sophon.errors import CompositionError
from sophon_middlewares import (
    AgenticLoop,
    Approval,
    Budget,
    LlmInvoker,
    ParallelExecution,
    SessionEvents,
    ToolExecution,
)


async def fine(ctx: Context, next: Next) -> None:
    await next(ctx)


def not_async(ctx: Context, next: Next) -> None:
    return None


async def one_parameter(ctx: Context) -> None:
    return None


class Wanting:
    requires = ("Oracle",)

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await next(ctx)


class Replacement:
    provides = ("Oracle", "ToolExecution")

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await next(ctx)


REFUSED = [
    pytest.param((), "at least one", id="nothing at all"),
    pytest.param((fine, 42), "argument 2 .*42.* not callable", id="no callable"),
    pytest.param((fine, not_async), "argument 2 of compose, not_async, is not async", id="not async"),
    pytest.param((one_parameter,), r"one_parameter, is not callable with \(ctx, next\)", id="one parameter"),
    pytest.param((AgenticLoop,), r"AgenticLoop, is a class; give an instance: AgenticLoop\(\)", id="a class"),
    pytest.param((Wanting(), fine), "Wanting requires Oracle", id="missing requirement"),
    pytest.param((LlmInvoker(), fine), "fine stands after LlmInvoker, which is terminal", id="behind a terminal"),
    pytest.param((Approval(), LlmInvoker()), "Approval requires ToolExecution", id="approval of nothing"),
    pytest.param((ToolExecution(), Approval(), LlmInvoker()), "Approval must stand before ToolExecution", id="order"),
    pytest.param((AgenticLoop(), Budget(), LlmInvoker()), "Budget runs once per turn and stands after", id="zones"),
    pytest.param((Budget(), SessionEvents(), LlmInvoker()), "SessionEvents must stand before Budget", id="outer order"),
    pytest.param((AgenticLoop(), AgenticLoop(), LlmInvoker()), "AgenticLoop is in the chain twice", id="twice"),
    pytest.param((ParallelExecution(), LlmInvoker()), "ParallelExecution requires ToolExecution", id="parallel alone"),
]


@pytest.mark.parametrize(("middlewares", "sentence"), REFUSED)
def test_a_chain_that_cannot_work_names_its_culprit(middlewares: tuple, sentence: str) -> None:
    with pytest.raises(CompositionError, match=sentence):
        Pipeline.compose(*middlewares)


def test_all_faults_of_an_order_are_told_at_once() -> None:
    with pytest.raises(CompositionError) as told:
        Pipeline.compose(LlmInvoker(), AgenticLoop(), SessionEvents())

    assert len(str(told.value).splitlines()) >= 3


def test_a_replacement_stands_in_by_what_it_provides() -> None:
    Pipeline.compose(Wanting(), Approval(), Replacement(), LlmInvoker())


def test_a_partial_of_an_async_function_is_a_middleware() -> None:
    async def with_option(ctx: Context, next: Next, *, option: int) -> None:
        ctx.response = Response(str(option))

    assert "with_option" in Pipeline.compose(functools.partial(with_option, option=3)).explain()


def test_a_function_may_stand_anywhere() -> None:
    Pipeline.compose(fine, SessionEvents(), fine, AgenticLoop(), fine, ToolExecution(), fine, LlmInvoker())


def test_faults_inside_a_nested_pipeline_are_found_in_the_whole_chain() -> None:
    inner = Pipeline.compose(AgenticLoop())

    with pytest.raises(CompositionError, match="Budget"):
        Pipeline.compose(inner, Budget(), LlmInvoker())
