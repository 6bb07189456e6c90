"""Turns that a turn starts with services of its own are on its account."""

import asyncio
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import anyio

from sophon import Pipeline, Services, ToolCall, tool
from sophon.messages import Message, Response, Usage
from sophon.models.model import ModelRequest, ModelResponse
from sophon.stores import InMemoryStore
from sophon.testing import FunctionModel
from sophon.tools.tool import Tool
from sophon_middlewares import AgenticLoop, Budget, CapabilityRouting, LlmInvoker, ToolExecution
from tests.tables import table

LOOP = (CapabilityRouting(), AgenticLoop(), ToolExecution(), LlmInvoker())
CHAIN = Pipeline.compose(Budget(), *LOOP)
UNMETERED = Pipeline.compose(*LOOP)
CENT = 10_000
MODELS: WeakKeyDictionary[Services, FunctionModel] = WeakKeyDictionary()


def build(
    tools: Sequence[Tool] = (), *, calls: int = 0, cost_limit: float | None = 5.0, store: InMemoryStore | None = None
) -> Services:
    """Services whose model calls the first tool so often, in one reply each, and costs 1 cent a call."""

    async def answer(request: ModelRequest) -> ModelResponse:
        rounds = sum(message.role == "tool" for message in request.messages)
        requested = [ToolCall(f"c{rounds}", tools[0].name, {"number": rounds})] if rounds < calls else []
        return ModelResponse("" if requested else "done", requested, Usage(100, 0, CENT))

    model = FunctionModel(answer, prices=(1.0, 0.0))
    services = Services(models=model, tools=tools, store=store, settings={"Budget": {"Turn": {"Cost": cost_limit}}})
    MODELS[services] = model
    return services


def requests_of(services: Services) -> int:
    return len(MODELS[services].requests)


@tool(name="work")
async def work(number: int) -> str:
    """Work."""
    return f"worked {number}"


def delegate(inner: Services, chain: Pipeline, ended: list[Response], *, at_once: int = 1) -> Tool:
    @tool(name="delegate")
    async def run(number: int) -> str:
        """Run turns with other services."""

        async def one() -> None:
            ended.append(await chain.run(inner.turn("go")))

        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(one)
        return "delegated"

    return run


@table("chain", [CHAIN, UNMETERED])
@table("at_once", [1, 3])
async def test_a_turn_with_services_of_its_own_stops_at_the_limit_of_the_turn_that_started_it(
    chain: Pipeline, at_once: int
) -> None:
    inner = build([work], calls=50)
    outer = build([delegate(inner, chain, [], at_once=at_once)], calls=1, cost_limit=0.2)
    await CHAIN.run(outer.turn("go"))
    assert requests_of(inner) + requests_of(outer) <= 20
    assert requests_of(inner) > 5


async def test_a_nested_turn_is_charged_to_every_turn_above_it() -> None:
    innermost = build([work], calls=50)
    middle = build([delegate(innermost, CHAIN, [])], calls=1)
    outer = build([delegate(middle, CHAIN, [])], calls=1, cost_limit=0.2)
    ctx = outer.turn("go")
    await CHAIN.run(ctx)
    assert 5 < requests_of(innermost) <= 18
    spent = requests_of(innermost) + requests_of(middle) + requests_of(outer)
    assert ctx.tally.metered.cost_micros == spent * CENT


async def test_the_limit_of_the_started_turn_holds_too() -> None:
    ended: list[Response] = []
    inner = build([work], calls=50, cost_limit=0.05)
    outer = build([delegate(inner, CHAIN, ended)], calls=1)
    assert (await CHAIN.run(outer.turn("go"))).finish_reason == "stop"
    assert ended[0].finish_reason == "budget_exceeded"
    assert requests_of(inner) <= 5


@table("shared", [True, False])
async def test_each_call_is_recorded_once_in_a_store(shared: bool) -> None:
    store = InMemoryStore()
    inner = build(store=store if shared else None)
    outer = build([delegate(inner, CHAIN, [])], calls=1, store=store)
    ctx = outer.turn("go")
    await CHAIN.run(ctx)
    assert ctx.tally.metered.cost_micros == 3 * CENT
    assert sum(each.usage.cost_micros for each in await store.usage.list_totals()) == 3 * CENT


async def test_a_call_of_another_gateway_without_a_turn_is_on_the_account_of_the_turn() -> None:
    inner = build()

    @tool(name="ask")
    async def ask(number: int) -> str:
        """Ask a model."""
        candidates = inner.gateway.candidates()
        request = ModelRequest([Message("user", "?")], (), candidates[0].info, "reply", max_tokens=10)
        for _ in range(50):
            await inner.gateway.call(request, candidates)
        return "asked"

    outer = build([ask], calls=1, cost_limit=0.2)
    ctx = outer.turn("go")
    assert (await CHAIN.run(ctx)).finish_reason == "budget_exceeded"
    assert 5 < requests_of(inner) <= 19
    assert ctx.tally.metered.cost_micros == (requests_of(inner) + requests_of(outer)) * CENT


@table("chain", [CHAIN, UNMETERED])
async def test_what_goes_on_after_the_turn_that_began_it_is_limited_and_recorded(chain: Pipeline) -> None:
    inner, store, left = build([work], calls=50), InMemoryStore(), list[asyncio.Task[Response]]()

    @tool(name="begin")
    async def begin(number: int) -> str:
        """Begin a turn, and do not wait for it."""
        left.append(asyncio.ensure_future(chain.run(inner.turn("go"))))
        return "begun"

    outer = build([begin], calls=1, cost_limit=0.2, store=store)
    await CHAIN.run(outer.turn("go"))
    await asyncio.wait(left)
    left[0].exception()  # BudgetExceeded, of the chain without Budget
    assert 5 < requests_of(inner) <= 18
    recorded = sum(each.usage.cost_micros for each in await store.usage.list_totals())
    assert recorded == (requests_of(inner) + requests_of(outer)) * CENT


async def test_a_turn_that_is_started_after_the_outer_one_is_on_its_own_account() -> None:
    inner = build([work], calls=10)
    outer = build(cost_limit=0.05)
    await CHAIN.run(outer.turn("go"))
    assert (await CHAIN.run(inner.turn("go"))).finish_reason == "stop"
