"""The budget holds: before a turn, in the middle of it, for many at once, and nothing stays reserved."""

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from sophon import (
    Context,
    Decision,
    Message,
    ModelRequest,
    ModelResponse,
    Next,
    Pipeline,
    Risk,
    Services,
    Tool,
    ToolCall,
    Usage,
    tool,
)
from sophon.approvals import ApprovalRequest
from sophon.builtin_tools import builtin_tools
from sophon.context import Step
from sophon.errors import ModelError
from sophon.events import BudgetAlert, ProviderExcluded, TaskCompleted
from sophon.models.gateway.provider import Provider
from sophon.models.model import Hosting, Model, ModelInfo
from sophon.stores.factory import store_from_url
from sophon.stores.in_memory_store import InMemoryStore
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares import (
    AgenticLoop,
    Approval,
    Budget,
    CapabilityRouting,
    LlmInvoker,
    ParallelExecution,
    SessionEvents,
    ToolExecution,
)
from sophon_middlewares.chains import twelve
from tests.gate import Gate
from tests.tables import table

INNER = (AgenticLoop(), ParallelExecution(), Approval(), ToolExecution(), LlmInvoker())
CHAIN = Pipeline.compose(SessionEvents(), Budget(), CapabilityRouting(), *INNER)
ROOM_FOR_ONE = 7000
"""Tokens: the worst case of one call is 4096 of output and a short input."""


@tool
async def noop(number: int = 0) -> str:
    """Nothing."""
    return "ok"


def services(
    *models: Model | Provider, tools: Sequence[Tool] = (noop,), more: dict[str, Any] | None = None, **parts: Any
) -> Services:
    """Services with these models, no built-in tools, and `more` as `Budget`."""
    disabled = [each.name for each in builtin_tools()]
    settings = {"Budget": more or {}, "Tools": {"Disabled": disabled}, "Approval": {"Timeout": "01:00:00"}}
    clock = parts.pop("clock", None) or VirtualClock()
    return Services(models=list(models), tools=tools, clock=clock, settings=settings, **parts)


def costing(input_tokens: int, output_tokens: int = 0, text: str = "ok", **options: Any) -> FunctionModel:
    async def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse(text, usage=Usage(input_tokens, output_tokens))

    return FunctionModel(answer, **options)


async def used(services: Services) -> int:
    return sum(total.usage.total_tokens for total in await services.store.usage.list_totals())


def daily(tokens: int, provider: str = "*") -> dict[str, Any]:
    return {"Providers": {provider: {"DailyTokens": tokens}}}


@pytest.mark.parametrize("url", ["memory", "sqlite:///books.db"])
@pytest.mark.parametrize("chain", [lambda _: CHAIN, twelve], ids=["pieces", "twelve"])
async def test_of_fifty_turns_at_once_with_room_for_one_one_runs(
    url: str, chain: Callable[[Services], Pipeline], tmp_path: Path
) -> None:
    released = asyncio.Event()
    asked: list[ModelRequest] = []

    async def answer(request: ModelRequest) -> ModelResponse:
        asked.append(request)
        assert len(asked) == 1, "a second call got through"
        await released.wait()
        return ModelResponse("done", usage=Usage(100, 50))

    clock = VirtualClock()
    store = InMemoryStore(clock=clock) if url == "memory" else store_from_url(url, folder=tmp_path, clock=clock)
    async with services(FunctionModel(answer), more=daily(ROOM_FOR_ONE), store=store, clock=clock) as host:
        pipeline = chain(host)
        turns = [asyncio.ensure_future(pipeline.run(host.turn("go"))) for _ in range(50)]
        while sum(turn.done() for turn in turns) < 49:
            await asyncio.wait([turn for turn in turns if not turn.done()], return_when=asyncio.FIRST_COMPLETED)
        released.set()
        reasons = [(await turn).finish_reason for turn in turns]

        assert sorted(reasons) == ["budget_exceeded"] * 49 + ["stop"]
        assert len(asked) == 1
        assert await store.usage.reserved() == 0
        assert await used(host) == 150


async def test_a_spent_budget_never_reaches_the_model_and_says_which_and_until_when() -> None:
    model = costing(6000)
    host = services(model, more=daily(6000))
    await CHAIN.run(host.turn("one"))

    response = await CHAIN.run(host.turn("two"))

    assert len(model.requests) == 1
    assert response.finish_reason == "budget_exceeded"
    assert response.detail == {
        "limit": "DailyTokens",
        "provider": "function",
        "used": 6000,
        "allowed": 6000,
        "resets_at": "2026-01-02T00:00:00+00:00",
    }
    for fact in ("DailyTokens", "function", "6000", "2026-01-02"):
        assert fact in response.text


async def test_a_refusal_is_an_answer_that_is_recorded_and_told() -> None:
    events = EventRecorder()
    host = services(costing(1), more=daily(10), events=events)

    response = await CHAIN.run(host.turn("go", session_id="s", stream=True))

    assert [m.content for m in await host.history("s")] == ["go", response.text]
    assert [record.kind for record in await host.store.sessions.list_records("s")] == ["message", "message", "refused"]
    assert [event.finish_reason for event in events.of(TaskCompleted)] == ["budget_exceeded"]


@table(("hours", "reason"), [(11, "budget_exceeded"), (13, "stop")])
async def test_the_next_day_has_its_own_tokens(hours: int, reason: str) -> None:
    clock = VirtualClock(start=VirtualClock().now() + timedelta(hours=12))
    host = services(costing(6000), more=daily(6000), clock=clock)
    await CHAIN.run(host.turn("one"))
    await clock.sleep(hours * 3600)

    assert (await CHAIN.run(host.turn("two"))).finish_reason == reason


async def test_a_day_is_that_of_the_time_zone() -> None:
    clock = VirtualClock(start=VirtualClock().now() + timedelta(hours=22))
    host = services(costing(6000), more={**daily(6000), "TimeZone": "Europe/Berlin"}, clock=clock)
    await CHAIN.run(host.turn("one"))
    await clock.sleep(3600)

    assert (await CHAIN.run(host.turn("two"))).finish_reason == "stop"


async def test_a_months_money_is_gone_until_the_next_month() -> None:
    clock = VirtualClock(start=VirtualClock().now() + timedelta(days=29))
    model = costing(2_000_000, prices=(1.0, 1.0))
    host = services(model, more={"Providers": {"*": {"MonthlyCost": 2}}, "Turn": {"Tokens": None}}, clock=clock)
    first = await CHAIN.run(host.turn("one"))
    await clock.sleep(24 * 3600)
    second = await CHAIN.run(host.turn("two"))
    await clock.sleep(24 * 3600)
    third = await CHAIN.run(host.turn("three"))

    assert [each.finish_reason for each in (first, second, third)] == ["stop", "budget_exceeded", "stop"]
    assert second.detail["limit"] == "MonthlyCost"
    assert (second.detail["used"], second.detail["resets_at"]) == (2.0, "2026-02-01T00:00:00+00:00")


async def test_the_turn_is_refused_only_when_no_provider_is_left() -> None:
    host = services(costing(6000, name="a"), costing(6000, name="b"), more=daily(6000))
    reasons = [(await CHAIN.run(host.turn("go"))).finish_reason for _ in range(3)]
    assert reasons == ["stop", "stop", "budget_exceeded"]


async def test_the_limit_of_a_provider_is_found_by_the_providers_own_id() -> None:
    model = costing(6000, name="model")
    host = services(Provider("main", [model]), more=daily(6000, "main"))
    reasons = [(await CHAIN.run(host.turn("go"))).finish_reason for _ in range(2)]

    assert reasons == ["stop", "budget_exceeded"]
    assert [total.provider for total in await host.store.usage.list_totals()] == ["main"]


async def test_when_nobody_is_left_in_mid_turn_the_turn_ends_and_the_conversation_is_whole() -> None:
    with ScriptedModel([ModelResponse(tool_calls=[ToolCall("c", "noop")], usage=Usage(4000, 0))]) as model:
        host = services(model, more=daily(ROOM_FOR_ONE))
        response = await CHAIN.run(host.turn("go", session_id="s"))

    assert response.finish_reason == "budget_exceeded"
    history = await host.history("s")
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant"]
    assert_valid_transcript(history)


def calling(times: int, usage: Usage, name: str = "noop", **options: Any) -> FunctionModel:
    """A model that calls a tool so many times, one call a round, and then answers."""

    async def answer(request: ModelRequest) -> ModelResponse:
        rounds = sum(message.role == "tool" for message in request.messages)
        calls = [ToolCall(f"c{rounds}", name, {"number": rounds})] if rounds < times else []
        return ModelResponse("" if calls else "done", calls, usage)

    return FunctionModel(answer, **options)


@table(
    ("turn", "limit", "asked"),
    [
        ({"Tokens": 5000}, "Budget.Turn.Tokens", 3),
        ({"Cost": 0.0088}, "Budget.Turn.Cost", 2),
        ({"ToolCalls": 4}, "Budget.Turn.ToolCalls", 5),
    ],
)
async def test_the_turn_has_a_ceiling_in_each_unit(turn: dict[str, Any], limit: str, asked: int) -> None:
    @tool(name="noop")
    async def slow(ctx: Context, number: int) -> str:
        """Ten seconds."""
        await ctx.services.clock.sleep(10)
        return "ok"

    model = calling(8, Usage(200, 100), prices=(1.0, 2.0))
    response = await CHAIN.run(services(model, tools=[slow], more={"Turn": turn}).turn("go"))

    assert (response.finish_reason, response.detail["limit"]) == ("budget_exceeded", limit)
    assert len(model.requests) == asked


async def test_none_is_no_ceiling() -> None:
    turn = {"Tokens": None, "Cost": None, "ToolCalls": None, "ActiveTime": None}
    host = services(calling(8, Usage(10**6, 10**6), prices=(9.0, 9.0)), more={"Turn": turn})
    assert (await CHAIN.run(host.turn("go"))).finish_reason == "stop"


async def test_a_reply_with_more_calls_than_the_ceiling_has_left_is_judged_before_one_of_them_runs() -> None:
    ran: list[int] = []

    @tool
    async def count(number: int) -> str:
        """Count."""
        await asyncio.sleep(0)
        ran.append(number)
        return "ok"

    calls = [ToolCall(f"c{n}", "count", {"number": n}) for n in range(5)]
    with ScriptedModel([calls]) as model:
        host = services(model, tools=[count], more={"Turn": {"ToolCalls": 3}})
        response = await CHAIN.run(host.turn("go", session_id="s"))

    assert response.finish_reason == "budget_exceeded"
    assert (response.detail["used"], response.detail["allowed"]) == (0, 3)
    assert ran == []
    results = [message.content for message in await host.history("s") if message.role == "tool"]
    assert results == ["error: not run, because the turn ended"] * 5


async def test_only_calls_that_can_run_count_and_what_did_not_run_is_given_back() -> None:
    @tool(risk=Risk.HIGH)
    async def grave() -> str:
        """Nobody approves it."""
        return "never"

    @tool
    async def light(number: int) -> str:
        """Light."""
        return "ok"

    first = [ToolCall("a", "grave"), ToolCall("b", "light", {"number": 1}), ToolCall("c", "missing")]
    second = [ToolCall("d", "light", {"number": 2})]
    with ScriptedModel([first, second, "done"]) as model:
        host = services(model, tools=[grave, light], more={"Turn": {"ToolCalls": 2}})
        ctx = host.turn("go")
        response = await CHAIN.run(ctx)

    assert (response.text, ctx.tally.tool_calls) == ("done", 2)


async def test_a_turn_that_was_interrupted_in_a_reserved_batch_counts_it_once() -> None:
    states: list[str] = []

    async def interrupt(ctx: Context, next: Next) -> None:
        if ctx.settling and not states:
            states.append(json.dumps(ctx.state()))
            raise RuntimeError("the process ends here")
        await next(ctx)

    chain = Pipeline.compose(Budget(), AgenticLoop(), interrupt, ToolExecution(), LlmInvoker())
    batch = [ToolCall(f"c{n}", "noop", {"number": n}) for n in range(2)]
    with ScriptedModel([batch, "done"]) as model:
        host = services(model, more={"Turn": {"ToolCalls": 2}})
        with pytest.raises(RuntimeError):
            await chain.run(host.turn("go"))
        ctx = host.restore(json.loads(states[0]))
        response = await chain.run(ctx)

    assert (response.text, ctx.tally.tool_calls) == ("done", 2)


async def test_steps_that_run_at_once_share_the_ceiling_of_calls() -> None:
    ran: list[int] = []
    clock = VirtualClock()

    @tool
    async def count(number: int) -> str:
        """Count."""
        await clock.sleep(1)
        ran.append(number)
        return "ok"

    plan = '{"goal": "g", "steps": [{"id": "a", "description": "one"}, {"id": "b", "description": "two"}]}'

    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "plan":
            return plan
        return ModelResponse(tool_calls=[ToolCall("", "count", {"number": n}) for n in range(3)])

    host = Services(
        models=FunctionModel(answer),
        tools=[count],
        clock=clock,
        settings={"Budget": {"Turn": {"ToolCalls": 5}}, "Planning": {"Mode": "Always"}},
    )
    response = await twelve(host).run(host.turn("go"))

    assert response.finish_reason == "budget_exceeded"
    assert len(ran) in (0, 3)


class SlowGate:
    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock

    async def request(self, request: ApprovalRequest) -> Decision:
        await self.clock.sleep(1800)
        return Decision.approve()


async def test_waiting_for_a_person_is_no_time_at_work() -> None:
    @tool(risk=Risk.HIGH)
    async def grave(number: int) -> str:
        """Ask first."""
        return "ok"

    clock = VirtualClock()
    host = services(
        calling(1, Usage(1, 1), "grave"),
        tools=[grave],
        more={"Turn": {"ActiveTime": "00:01:00"}},
        clock=clock,
        approvals=SlowGate(clock),
    )

    assert (await CHAIN.run(host.turn("go"))).finish_reason == "stop"
    assert clock.monotonic() >= 1800


async def test_internal_calls_are_counted_and_bounded_as_all_others() -> None:
    async def titled(ctx: Context, next: Next) -> None:
        await ctx.complete(ctx.request([Message("user", "a title")], purpose="title"))
        await next(ctx)

    chain = Pipeline.compose(SessionEvents(), Budget(), CapabilityRouting(), titled, *INNER)
    host = services(costing(4000), more=daily(10_000))
    first = await chain.run(host.turn("one"))
    second = await chain.run(host.turn("two"))

    assert first.usage.total_tokens == 8000
    assert second.finish_reason == "budget_exceeded"
    assert [(total.calls, total.usage.total_tokens) for total in await host.store.usage.list_totals()] == [(2, 8000)]


async def test_a_turn_below_this_one_shares_its_meter() -> None:
    async def in_steps(ctx: Context, next: Next) -> None:
        if not ctx.depth:
            assert ctx.pipeline is not None
            await ctx.pipeline.run(ctx.child("a step", Step("a")))
        await next(ctx)

    chain = Pipeline.compose(SessionEvents(), Budget(), CapabilityRouting(), in_steps, *INNER)
    model = costing(2000)
    response = await chain.run(services(model, more={"Turn": {"Tokens": 6000}}).turn("go"))

    assert [request.purpose for request in model.requests] == ["step"]
    assert response.finish_reason == "budget_exceeded"
    assert response.usage.total_tokens == 2000


async def test_alerts_come_once_at_eighty_and_at_a_hundred_percent() -> None:
    events = EventRecorder()
    costs = iter([6000, 2500, 1000, 900])

    async def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse("ok", usage=Usage(next(costs), 0))

    host = services(FunctionModel(answer), more=daily(10_000), events=events)
    for _ in range(4):
        request = host.turn("go")
        await Pipeline.compose(SessionEvents(), Budget(), short, LlmInvoker()).run(request)

    assert [(a.provider, a.name, a.share, a.used) for a in events.of(BudgetAlert)] == [
        ("function", "DailyTokens", 0.8, 8500),
        ("function", "DailyTokens", 1.0, 10_400),
    ]


async def short(ctx: Context, next: Next) -> None:
    """Asks for little output, so that a budget can be used up to the last token."""

    async def little(request: ModelRequest, call: Any) -> ModelResponse:
        return await call(request.copy_with(max_tokens=20))

    ctx.call_layers.append(little)
    await next(ctx)


@table("how", ["scope", "task"])
async def test_a_cancelled_call_is_charged_its_input(how: str) -> None:
    begun = asyncio.Event()

    async def hang(request: ModelRequest) -> str:
        begun.set()
        return await asyncio.get_running_loop().create_future()

    host = services(FunctionModel(hang), more=daily(ROOM_FOR_ONE))
    scope = anyio.CancelScope()

    async def turn() -> None:
        with scope:
            await CHAIN.run(host.turn("a few words"))

    task = asyncio.ensure_future(turn())
    await begun.wait()
    if how == "scope":
        scope.cancel()
    else:
        task.cancel()
    await asyncio.wait([task])

    [total] = await host.store.usage.list_totals()
    assert 0 < total.usage.input_tokens < 100
    assert total.usage.output_tokens == 0
    assert await host.store.usage.reserved() == 0


async def ends_well(request: ModelRequest) -> str:
    return "ok"


async def ends_in_error(request: ModelRequest) -> str:
    raise ModelError("out of order")


async def ends_in_a_fault(request: ModelRequest) -> str:
    raise AssertionError("a test's own")


async def calls_for_ever(request: ModelRequest) -> ModelResponse:
    return ModelResponse(tool_calls=[ToolCall("", "noop", {})])


@table("answer", [ends_well, ends_in_error, ends_in_a_fault, calls_for_ever])
@table("turn", [{}, {"Tokens": 4500}, {"ToolCalls": 1}])
async def test_nothing_stays_reserved_whatever_the_outcome(answer: Any, turn: dict[str, Any]) -> None:
    host = services(FunctionModel(answer), more={**daily(10**6), "Turn": turn})
    try:
        await CHAIN.run(host.turn("go"))
    except (ModelError, AssertionError):
        assert answer in (ends_in_error, ends_in_a_fault)

    assert await host.store.usage.reserved() == 0


async def test_a_resumed_turn_keeps_what_it_has_spent() -> None:
    @tool(risk=Risk.HIGH)
    async def grave(number: int) -> str:
        """Ask first."""
        return "ok"

    model = calling(1, Usage(2000, 0), "grave")
    host = services(model, tools=[grave], more={"Turn": {"Tokens": 5000}}, approvals=Gate.suspending())
    ctx = host.turn("go")
    assert (await CHAIN.run(ctx)).finish_reason == "suspended"
    assert await host.store.usage.reserved() == 0

    response = await CHAIN.run(host.restore(json.loads(json.dumps(ctx.state()))))

    assert (response.finish_reason, response.detail["limit"]) == ("budget_exceeded", "Budget.Turn.Tokens")
    assert response.detail["used"] == 2000
    assert len(model.requests) == 1


async def test_a_provider_that_another_middleware_excluded_is_not_taken_for_a_spent_one() -> None:
    async def bar(ctx: Context, next: Next) -> None:
        ctx.excluded_providers["gone"] = "does not exist here"
        await next(ctx)

    host = services(costing(6000, name="a"), costing(1, name="b"), more=daily(6000, "a"))
    chain = Pipeline.compose(SessionEvents(), bar, Budget(), CapabilityRouting(), *INNER)
    await chain.run(host.turn("one"))

    assert (await chain.run(host.turn("two"))).finish_reason == "stop"


class Hosted(FunctionModel):
    """A model at a provider that charges for it, at a price that nobody knows unless `prices` say it."""

    def __init__(self, name: str = "new", hosting: Hosting = "hosted", **options: Any) -> None:
        async def answer(request: ModelRequest) -> ModelResponse:
            return ModelResponse("ok", usage=Usage(1000, 500))

        super().__init__(answer, name=name, **options)
        self.info = ModelInfo(name, name, hosting=hosting, prices=options.get("prices"))


MONTHLY = {"Providers": {"*": {"MonthlyCost": 2}}}
NO_COST = {"Turn": {"Cost": None}}
PRICED = {"DefaultPrices": {"Input": 2.0, "Output": 10.0}}


@table(
    ("hosting", "budget", "limit"),
    [
        ("hosted", {}, "Budget.Turn.Cost"),
        ("hosted", MONTHLY, "Budget.Providers.*.MonthlyCost"),
        ("hosted", {"Providers": {"new": {"MonthlyCost": 2}}, **NO_COST}, "Budget.Providers.new.MonthlyCost"),
        ("hosted", NO_COST, None),
        ("hosted", PRICED, None),
        ("private", {}, None),
        ("private", MONTHLY, "Budget.Providers.*.MonthlyCost"),
        ("local", MONTHLY, None),
    ],
)
async def test_a_model_of_unknown_price_is_refused_while_a_limit_on_the_cost_could_not_see_it(
    hosting: Hosting, budget: dict[str, Any], limit: str | None
) -> None:
    model = Hosted(hosting=hosting)
    response = await CHAIN.run(services(model, more=budget).turn("go"))

    assert response.finish_reason == ("stop" if limit is None else "budget_exceeded")
    assert response.detail.get("limit") == limit
    assert len(model.requests) == (limit is None)
    if limit is not None:
        for fact in ("'new/new' is unknown", limit, "Prices of the provider 'new'", "Budget.DefaultPrices"):
            assert fact in response.text


async def test_a_configured_default_price_is_charged_so_that_the_month_closes() -> None:
    model = Hosted()
    host = services(model, more={"Providers": {"*": {"MonthlyCost": 0.045}}, **PRICED})
    reasons = [(await CHAIN.run(host.turn("go"))).finish_reason for _ in range(3)]

    assert reasons == ["stop", "budget_exceeded", "budget_exceeded"]
    [total] = await host.store.usage.list_totals()
    assert (total.usage.cost_micros, total.usage.unpriced_tokens) == (1000 * 2 + 500 * 10, 0)


async def test_the_usage_says_how_many_tokens_had_no_known_price() -> None:
    host = services(Hosted(), more=NO_COST)
    response = await CHAIN.run(host.turn("go"))

    [total] = await host.store.usage.list_totals()
    assert response.usage == total.usage == Usage(1000, 500, 0, 0, unpriced_tokens=1500)


async def test_a_provider_with_one_model_of_known_price_stays_and_its_other_model_is_refused() -> None:
    events = EventRecorder()
    known, unknown = Hosted("known", prices=(1.0, 1.0)), Hosted("unknown")
    host = services(Provider("p", [known, unknown]), events=events)

    assert (await CHAIN.run(host.turn("go"))).finish_reason == "stop"
    assert events.of(ProviderExcluded) == []
    response = await CHAIN.run(host.turn("go", model="p/unknown"))
    assert response.finish_reason == "budget_exceeded"
    assert [each.provider for each in events.of(ProviderExcluded)] == ["p"]


async def test_a_free_model_answers_under_a_limit_of_no_money_at_all() -> None:
    host = services(costing(10), more={"Providers": {"*": {"MonthlyCost": 0}}, "Turn": {"Cost": 0}})
    assert (await CHAIN.run(host.turn("go"))).finish_reason == "stop"


async def test_a_refusal_below_the_limit_alerts_once_in_the_period() -> None:
    events = EventRecorder()
    clock = VirtualClock()
    host = services(costing(4000), more=daily(ROOM_FOR_ONE), events=events, clock=clock)
    reasons = [(await CHAIN.run(host.turn("go"))).finish_reason for _ in range(3)]
    await clock.sleep(24 * 3600)
    reasons += [(await CHAIN.run(host.turn("go"))).finish_reason for _ in range(2)]

    assert reasons == ["stop", "budget_exceeded", "budget_exceeded", "stop", "budget_exceeded"]
    alerts = [(each.name, each.used, each.limit, each.share, each.refused) for each in events.of(BudgetAlert)]
    assert alerts == [("DailyTokens", 4000, 7000, 1.0, True)] * 2


async def test_after_the_alert_at_the_limit_its_refusals_alert_nobody_again() -> None:
    events = EventRecorder()
    host = services(costing(8000), more=daily(ROOM_FOR_ONE), events=events)
    for _ in range(3):
        await CHAIN.run(host.turn("go"))

    assert [(each.share, each.refused) for each in events.of(BudgetAlert)] == [(0.8, False), (1.0, False)]


@pytest.mark.parametrize("url", ["memory", "sqlite:///books.db"])
async def test_what_other_attempts_have_reserved_alerts_nobody(url: str, tmp_path: Path) -> None:
    events, release, clock = EventRecorder(), asyncio.Event(), VirtualClock()

    async def answer(request: ModelRequest) -> ModelResponse:
        if request.messages[-1].content == "slow":
            await release.wait()
        return ModelResponse("ok", usage=Usage(100, 0))

    store = InMemoryStore(clock=clock) if url == "memory" else store_from_url(url, folder=tmp_path, clock=clock)
    async with services(FunctionModel(answer), more=daily(30_000), store=store, clock=clock, events=events) as host:
        slow = [asyncio.ensure_future(CHAIN.run(host.turn("slow"))) for _ in range(5)]
        while await store.usage.reserved() < 5 * 4096:
            await asyncio.sleep(0)
        for _ in range(50):
            await CHAIN.run(host.turn("quick"))
        release.set()
        await asyncio.gather(*slow)

    assert events.of(BudgetAlert) == []


async def test_a_share_that_is_reached_while_others_are_in_flight_is_alerted() -> None:
    events, release = EventRecorder(), asyncio.Event()
    costs = {"first": 7990, "second": 30, "slow": 10}

    async def answer(request: ModelRequest) -> ModelResponse:
        text = request.messages[-1].content
        if text == "slow":
            await release.wait()
        return ModelResponse("ok", usage=Usage(costs[text], 0))

    chain = Pipeline.compose(SessionEvents(), Budget(), short, LlmInvoker())
    host = services(FunctionModel(answer), more=daily(10_000), events=events)
    await chain.run(host.turn("first"))
    slow = asyncio.ensure_future(chain.run(host.turn("slow")))
    while not await host.store.usage.reserved():
        await asyncio.sleep(0)
    await chain.run(host.turn("second"))
    release.set()
    await slow

    assert [(each.share, each.used) for each in events.of(BudgetAlert)] == [(0.8, 8020)]


async def test_the_exclusion_of_a_spent_provider_is_an_event_of_every_turn_that_goes_without_it() -> None:
    events = EventRecorder()
    host = services(costing(6000, name="a"), costing(1, text="b", name="b"), more=daily(6000, "a"), events=events)
    for _ in range(3):
        await CHAIN.run(host.turn("go"))

    excluded = events.of(ProviderExcluded)
    assert [(each.provider, each.limit, each.until) for each in excluded] == [
        ("a", "DailyTokens", "2026-01-02T00:00:00+00:00")
    ] * 2
    assert "6000 of 6000 used" in excluded[0].reason


async def test_an_exclusion_in_mid_turn_is_an_event_of_the_turn_once() -> None:
    events = EventRecorder()
    a = calling(9, Usage(4000, 0), name="noop")
    a.info = ModelInfo("a", "a")
    b = calling(3, Usage(1, 0), name="noop")
    b.info = ModelInfo("b", "b")
    host = services(a, b, more=daily(ROOM_FOR_ONE, "a"), events=events)
    assert (await CHAIN.run(host.turn("go"))).finish_reason == "stop"

    assert [(each.provider, each.limit) for each in events.of(ProviderExcluded)] == [("a", "DailyTokens")]


@table(
    ("more", "limit"),
    [
        ({"Budget": {"Turn": {"ActiveTime": "00:00:25"}}}, "Budget.Turn.ActiveTime"),
        ({"AgentExecution": {"MaxExecutionTime": "00:00:33"}}, "AgentExecution.MaxExecutionTime"),
    ],
)
async def test_a_turn_whose_time_is_over_sums_up_without_tools(more: dict[str, Any], limit: str) -> None:
    @tool(name="noop")
    async def slow(ctx: Context, number: int) -> str:
        """Ten seconds."""
        await ctx.services.clock.sleep(10)
        return f"part {number}"

    async def answer(request: ModelRequest) -> ModelResponse:
        found = [message.content for message in request.messages if message.role == "tool"]
        if not request.tools:
            return ModelResponse(f"found so far: {', '.join(found)}")
        return ModelResponse("", [ToolCall(f"c{len(found)}", "noop", {"number": len(found)})])

    model = FunctionModel(answer)
    host = Services(models=model, tools=[slow], clock=VirtualClock(), settings=more)
    response = await CHAIN.run(host.turn("go", session_id="s"))
    assert response.text == "found so far: part 0, part 1, part 2"
    assert response.finish_reason == "max_iterations"
    assert response.detail == {"iterations": 3, "limit": limit, "used": 30.0}
    assert_valid_transcript(await host.history("s"))


async def test_a_call_that_is_due_when_the_time_is_over_does_not_start() -> None:
    ran: list[int] = []

    @tool(name="noop")
    async def slow(ctx: Context, number: int) -> str:
        """Twenty seconds."""
        ran.append(number)
        await ctx.services.clock.sleep(20)
        return "ok"

    calls = [ToolCall(f"c{n}", "noop", {"number": n}) for n in range(3)]
    with ScriptedModel([calls, "all I have"]) as model:
        settings = {"Budget": {"Turn": {"ActiveTime": "00:00:25"}}, "Tools": {"MaxParallel": 1}}
        host = Services(models=model, tools=[slow], clock=VirtualClock(), settings=settings)
        response = await CHAIN.run(host.turn("go", session_id="s"))
    assert (ran, response.text) == ([0, 1], "all I have")
    results = [message.content for message in await host.history("s") if message.role == "tool"]
    assert results[2] == "denied: the time of this task is over (Budget.Turn.ActiveTime, 40 seconds of work): sum up"
