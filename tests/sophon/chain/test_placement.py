"""Placement: in the named places of a list, and in a chain without places by what the classes declare."""

import pytest

from sophon import Context, Next, Pipeline, Services
from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.placement import compose_with, place
from sophon.errors import CompositionError
from sophon_middlewares import AgenticLoop, LlmInvoker, SessionEvents, ToolExecution


class Outermost:
    """Stands in front."""

    outermost = True

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await next(ctx)


class Following(Outermost):
    """Stands behind the loop, if there is one."""

    outermost = False
    zone = "inner"
    follows = ("AgenticLoop",)
    placed_with = ("ToolExecution",)


class InFront(Outermost):
    """Stands in front of the tools, or of whatever it says."""

    outermost = False
    zone = "inner"
    before = ("ToolExecution",)


class Careless(Outermost):
    """Means something else by the names of the attributes."""

    outermost = False
    follows = 5
    placed_with = None


async def other(ctx: Context, next: Next) -> None:
    await next(ctx)


def names(chain: Pipeline) -> list[str]:
    return [get_middleware_name(each) for each in chain]


def test_a_named_place_is_empty_until_it_is_filled() -> None:
    parts = ("Outermost", AgenticLoop(), ToolExecution(), LlmInvoker())
    assert names(compose_with({}, *parts)) == ["AgenticLoop", "ToolExecution", "LlmInvoker"]
    assert names(compose_with({"Outermost": Outermost()}, *parts))[0] == "Outermost"


def test_what_a_list_has_by_itself_is_not_added_and_what_has_no_place_is_refused() -> None:
    parts = (AgenticLoop(), ToolExecution(), LlmInvoker())
    assert len(compose_with({"AgenticLoop": AgenticLoop()}, *parts)) == 3
    with pytest.raises(CompositionError, match="no place for Outermost"):
        compose_with({"Outermost": Outermost()}, *parts)


def test_each_stands_where_its_class_says() -> None:
    chain = Pipeline.compose(SessionEvents(), other, AgenticLoop(), other, ToolExecution(), LlmInvoker())
    added = place(chain, [InFront(), Outermost(), Following()])
    assert names(added) == [
        *("SessionEvents", "Outermost", "other", "AgenticLoop", "Following", "other", "InFront", "ToolExecution"),
        "LlmInvoker",
    ]


def test_what_the_chain_has_or_what_has_no_place_in_it_is_left_out() -> None:
    class Loop(AgenticLoop):
        pass

    chain = Pipeline.compose(Loop(), ToolExecution(), LlmInvoker())
    assert place(chain, [AgenticLoop()]) is chain
    alone = Pipeline.compose(other, LlmInvoker())
    assert place(alone, [Following(), InFront()]) is alone


def test_an_order_holds_where_no_class_says_it() -> None:
    class Second(Outermost):
        outermost = False

    chain = Pipeline.compose(AgenticLoop(), Second(), ToolExecution(), LlmInvoker())
    assert names(place(chain, [InFront()]))[1:3] == ["Second", "InFront"]
    assert names(place(chain, [InFront()], ["InFront", "Second"]))[1:3] == ["InFront", "Second"]


def test_a_subclass_of_pipeline_stays_one() -> None:
    class Own(Pipeline):
        pass

    assert isinstance(place(Own([AgenticLoop(), ToolExecution(), LlmInvoker()]), [InFront()]), Own)


def test_a_hook_of_model_calls_is_never_left_out() -> None:
    class Masking(Outermost):
        outermost = False
        hooks_model_calls = True
        requires = ("SessionEvents",)

    with pytest.raises(CompositionError, match="Masking requires SessionEvents"):
        place(Pipeline.compose(LlmInvoker()), [Masking()])


async def test_an_attribute_that_means_something_else_is_no_name() -> None:
    chain = place(Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker()), [Careless()])
    assert names(chain)[0] == "Careless"
    assert (await chain.run(Services().turn("hi"))).text
