"""What cannot work is refused when the chain is made, and the culprit is named."""

import functools
from collections.abc import Callable

import pytest

from sophon import Context, Middleware, Next, Pipeline, Response, Services
from sophon.errors import CompositionError
from sophon_middlewares import (
    AgenticLoop,
    Approval,
    Budget,
    CapabilityRouting,
    ContextWindow,
    LlmInvoker,
    ParallelExecution,
    PromptToolBridge,
    SessionEvents,
    SkillCalls,
    ToolExecution,
)
from sophon_middlewares.chains import twelve
from sophon_middlewares.chains.additions import find_guards
from tests.tables import table


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
    pytest.param((AgenticLoop(), LlmInvoker()), "AgenticLoop requires ToolExecution", id="a loop without tools"),
    pytest.param(
        (AgenticLoop(), ToolExecution()),
        r"ToolExecution is the last one and calls next: put a terminal",
        id="no terminal",
    ),
    pytest.param((fine, SessionEvents(), LlmInvoker()), "fine stands in front of SessionEvents", id="in front"),
]


@table(("middlewares", "sentence"), REFUSED)
def test_a_chain_that_cannot_work_names_its_culprit(middlewares: tuple, sentence: str) -> None:
    with pytest.raises(CompositionError, match=sentence):
        Pipeline.compose(*middlewares)


def test_a_replacement_stands_in_by_what_it_provides() -> None:
    Pipeline.compose(Wanting(), Approval(), Replacement(), LlmInvoker())


def test_a_partial_of_an_async_function_is_a_middleware() -> None:
    async def with_option(ctx: Context, next: Next, *, option: int) -> None:
        ctx.response = Response(str(option))

    assert "with_option" in Pipeline.compose(functools.partial(with_option, option=3)).explain()


def test_a_function_may_stand_anywhere_behind_session_events() -> None:
    Pipeline.compose(SessionEvents(), fine, AgenticLoop(), fine, ToolExecution(), fine, LlmInvoker())
    Pipeline.compose(fine, AgenticLoop(), ToolExecution(), LlmInvoker())


NOT_LAST = [each for each in twelve(Services()) if not isinstance(each, LlmInvoker)]


@table("last", NOT_LAST)
def test_none_of_the_eleven_that_call_next_is_the_last(last: Middleware) -> None:
    with pytest.raises(CompositionError, match=f"{type(last).__name__} is the last one and calls next"):
        Pipeline.compose(last)


def test_each_fault_has_one_line() -> None:
    with pytest.raises(CompositionError) as told:
        Pipeline.compose(fine, SessionEvents(), AgenticLoop())

    assert len(str(told.value).splitlines()) == 3


def test_a_function_and_a_class_without_declarations_may_be_the_last() -> None:
    Pipeline.compose(SessionEvents(), fine)
    Pipeline.compose(SessionEvents(), Replacement())


def test_a_fragment_needs_neither_what_it_requires_nor_a_terminal() -> None:
    inner = Pipeline.fragment(AgenticLoop(), Approval())

    assert len(Pipeline.compose(SessionEvents(), inner, ToolExecution(), LlmInvoker())) == 5
    with pytest.raises(CompositionError, match="requires ToolExecution"):
        Pipeline.compose(inner, LlmInvoker())
    with pytest.raises(CompositionError, match="must stand before ToolExecution"):
        Pipeline.fragment(ToolExecution(), Approval())


def test_faults_inside_a_nested_pipeline_are_found_in_the_whole_chain() -> None:
    inner = Pipeline.fragment(AgenticLoop())

    with pytest.raises(CompositionError, match="Budget"):
        Pipeline.compose(inner, Budget(), LlmInvoker())


class Loop(AgenticLoop):
    """A subclass of one of the twelve."""


class Execution(ToolExecution):
    """Another one."""


def test_a_subclass_stands_in_for_its_base_class() -> None:
    Pipeline.compose(SessionEvents(), Loop(), Execution(), LlmInvoker())
    with pytest.raises(CompositionError, match="must stand before ToolExecution"):
        Pipeline.compose(Execution(), Loop(), LlmInvoker())
    for pair in ((Loop(), AgenticLoop()), (AgenticLoop(), Loop())):
        with pytest.raises(CompositionError, match="twice"):
            Pipeline.compose(*pair, ToolExecution(), LlmInvoker())


def test_two_subclasses_of_one_base_are_two_middlewares() -> None:
    class Base:
        unique = True

        async def __call__(self, ctx: Context, next: Next, /) -> None:
            await next(ctx)

    class One(Base): ...

    class Other(Base): ...

    Pipeline.compose(One(), Other(), LlmInvoker())
    with pytest.raises(CompositionError, match="twice"):
        Pipeline.compose(One(), One(), LlmInvoker())


def test_a_decorated_middleware_composes() -> None:
    @functools.wraps(fine)
    def decorated(ctx: Context, next: Next, /) -> object:
        return fine(ctx, next)

    Pipeline.compose(decorated, LlmInvoker())  # type: ignore[arg-type]  # returns the coroutine of what it wraps


async def swapped(next: Next, ctx: Context) -> None:
    await next(ctx)


async def hooks_nothing(ctx: Context, next: Next) -> None:
    ctx.model_hook(lambda request, call: call(request))
    await next(ctx)


@table(
    ("middleware", "problem"),
    [(swapped, r"swapped, takes \(next, ctx\)"), (hooks_nothing, r"hooks_nothing, calls ctx.model_hook\(...\) alone")],
)
def test_swapped_parameters_and_a_hook_outside_of_a_with_are_refused(middleware: Middleware, problem: str) -> None:
    with pytest.raises(CompositionError, match=problem):
        Pipeline.compose(middleware, LlmInvoker())


@table(
    ("attribute", "value"),
    [("after", 3), ("requires", None), ("before", [1]), ("first", "no"), ("unique", 1), ("settling_only", ("x",))],
)
def test_a_declaration_of_the_wrong_kind_is_refused(attribute: str, value: object) -> None:
    async def call(self: object, ctx: Context, next: Next) -> None:
        await next(ctx)

    wrong = type("Wrong", (), {attribute: value, "__call__": call})()
    with pytest.raises(CompositionError, match=f"argument 1 of compose, Wrong, has {attribute} = "):
        Pipeline.compose(wrong, LlmInvoker())


def test_a_chain_is_not_made_by_the_class_itself() -> None:
    with pytest.raises(CompositionError, match=r"write Pipeline.compose"):
        Pipeline(fine, LlmInvoker())  # type: ignore[arg-type] - the mistake


@table(
    ("create", "problem"),
    [
        (lambda: AgenticLoop(options=20), r"AgenticLoop\(options\)=20 .*write LoopOptions"),
        (
            lambda: CapabilityRouting(strategy="Priority"),
            r"CapabilityRouting\(strategy\)='Priority' is not",
        ),
        (lambda: PromptToolBridge(dialect=SkillCalls), r"PromptToolBridge\(dialect\)=<class .*SkillCalls\(\)"),
        (lambda: ContextWindow(options={"Trigger": 0.5}), r"ContextWindow\(options\)=.*ContextWindowSettings"),
        (lambda: twelve(Services(), find_guards(Services().settings)), r"find_guards\(services.settings.guards"),
    ],
)
def test_what_a_middleware_cannot_use_is_refused_by_its_constructor(create: Callable[[], object], problem: str) -> None:
    with pytest.raises(CompositionError, match=problem):
        create()
