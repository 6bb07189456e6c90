"""Design 4.2: the budget holds, whoever asks, however many at once."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall, Usage, tool
from sophon.errors import ModelError
from sophon.events import BudgetAlert
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock
from sophon_middlewares.chains import twelve


def limits(provider: str = "*", **values: Any) -> dict[str, Any]:
    return {"Budget": {"Providers": {provider: values}}}


async def test_fifty_turns_at_once_with_room_for_one() -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        for _ in range(10):
            await asyncio.sleep(0)
        return ModelResponse("ok", usage=Usage(10, 5))

    model = FunctionModel(answer)
    services = Services(models=model, settings={**limits(DailyTokens=8000), "ToolFilter": {"Top": 1}})
    pipeline = twelve(services)
    turns = [services.turn(f"hello {n}", session_id=f"s{n}") for n in range(50)]
    responses = await asyncio.gather(*(pipeline.run(ctx) for ctx in turns))
    reasons = [each.finish_reason for each in responses]
    assert reasons.count("stop") == 1
    assert reasons.count("budget_exceeded") == 49
    assert len(model.requests) == 1
    assert await services.store.usage.reserved() == 0
    refused = next(each for each in responses if each.finish_reason == "budget_exceeded")
    assert "DailyTokens" in refused.text
    assert "2026" in refused.text or "resets" in refused.text
    for n in range(50):
        assert [m.role for m in await services.history(f"s{n}")] == ["user", "assistant"]


async def test_fifty_turns_with_money_for_one() -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        await asyncio.sleep(0)
        return ModelResponse("ok", usage=Usage(1000, 1000))

    model = FunctionModel(answer, prices=(10.0, 30.0))
    services = Services(models=model, settings=limits(MonthlyCost=0.15))
    pipeline = twelve(services)
    responses = await asyncio.gather(*(pipeline.run(services.turn(f"hello {n}")) for n in range(50)))
    assert [each.finish_reason for each in responses].count("stop") == 1
    assert len(model.requests) == 1
    assert await services.store.usage.reserved() == 0


async def test_what_was_reserved_and_not_used_is_free_again() -> None:
    model = ScriptedModel([ModelResponse(str(n), usage=Usage(100, 10)) for n in range(20)])
    services = Services(models=model, settings={**limits(DailyTokens=8000), "ToolFilter": {"Top": 1}})
    for n in range(20):
        response = await twelve(services).run(services.turn("hi", session_id=str(n)))
        assert response.text == str(n)
    model.close()


async def test_the_daily_limit_resets_with_the_day_of_the_time_zone() -> None:
    clock = VirtualClock(auto=False, start=datetime(2026, 3, 1, 22, 30, tzinfo=UTC))
    model = ScriptedModel([ModelResponse("a", usage=Usage(6000, 10)), ModelResponse("b", usage=Usage(100, 10))])
    budget = {"Providers": {"*": {"DailyTokens": 6000}}, "TimeZone": "Europe/Berlin"}
    services = Services(models=model, clock=clock, settings={"Budget": budget, "ToolFilter": {"Top": 1}})
    pipeline = twelve(services)
    assert (await pipeline.run(services.turn("hi"))).text == "a"
    refused = await pipeline.run(services.turn("hi"))
    assert refused.finish_reason == "budget_exceeded"
    assert refused.detail["resets_at"].startswith("2026-03-01T23:00:00")
    clock.advance(1800)
    await asyncio.sleep(0)
    assert (await pipeline.run(services.turn("hi"))).text == "b"


async def test_only_the_provider_that_is_over_is_left_out() -> None:
    first = ScriptedModel([ModelResponse("first", usage=Usage(9000, 10))], name="first")
    second = ScriptedModel(["second", "second"], name="second")
    services = Services(models=[first, second], settings=limits("first", DailyTokens=9000))
    pipeline = twelve(services)
    texts = [(await pipeline.run(services.turn("hi"))).text for _ in range(3)]
    assert texts == ["first", "second", "second"]


async def test_a_candidate_over_budget_in_mid_turn_is_skipped_and_with_none_left_the_turn_ends() -> None:
    def call(n: int) -> ModelResponse:
        return ModelResponse(
            tool_calls=[ToolCall(str(n), "calculator", {"expression": f"{n}+1"})], usage=Usage(6000, 100)
        )

    first = ScriptedModel([call(1)], name="first")
    second = ScriptedModel([call(2)], name="second")
    services = Services(models=[first, second], settings=limits(DailyTokens=6500))
    response = await twelve(services).run(services.turn("hi", session_id="s"))
    assert response.finish_reason == "budget_exceeded"
    assert len(first.requests) == len(second.requests) == 1
    assert await services.store.usage.reserved() == 0
    history = await services.history("s")
    assert history[-1].role == "assistant"
    assert history[-1].content == response.text


async def test_a_failure_releases_and_a_cancel_charges_the_input() -> None:
    async def broken(request: ModelRequest) -> str:
        raise ModelError("broken")

    services = Services(models=FunctionModel(broken), settings=limits(DailyTokens=100_000), clock=VirtualClock())
    with pytest.raises(ModelError):
        await twelve(services).run(services.turn("hi"))
    assert await services.store.usage.reserved() == 0

    started = asyncio.Event()

    async def hang(request: ModelRequest) -> str:
        started.set()
        return await asyncio.get_running_loop().create_future()

    services = Services(models=FunctionModel(hang), settings=limits(DailyTokens=100_000))
    ctx = services.turn("word " * 500)
    task = asyncio.create_task(twelve(services).run(ctx))
    await started.wait()
    assert await services.store.usage.reserved() > 0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await services.store.usage.reserved() == 0
    assert ctx.tally.metered.input_tokens > 300
    assert ctx.tally.metered.output_tokens == 0


@pytest.mark.parametrize("purpose", ["plan", "step", "reply", "compaction", "vote"])
async def test_calls_of_every_purpose_are_billed(purpose: str) -> None:
    seen: list[str] = []

    async def answer(request: ModelRequest) -> ModelResponse:
        seen.append(request.purpose)
        usage = Usage(100, 10)
        if request.purpose == "vote":
            return ModelResponse("yes", usage=usage)
        if request.purpose == "plan":
            text = '{"goal": "g", "steps": [{"id": "a", "description": "a"}, {"id": "b", "description": "b"}]}'
            return ModelResponse(text, usage=usage)
        return ModelResponse("fine", usage=usage)

    services = Services(models=FunctionModel(answer, context_window=4000))
    pipeline = twelve(services)
    for n in range(8):
        before = len(seen)
        mode = {"plan": "Always", "step": "Always", "vote": "LlmDecides"}.get(purpose, "Never")
        response = await pipeline.run(services.turn(f"{n} " + "word " * 700, session_id="s", planning=mode))
        assert response.usage.total_tokens == 110 * (len(seen) - before)
    assert purpose in seen


@pytest.mark.parametrize(
    ("turn", "name"),
    [({"ToolCalls": 5}, "ToolCalls"), ({"Tokens": 30_000}, "Tokens"), ({"Cost": 0.2}, "Cost")],
)  # fmt: skip
async def test_the_turns_own_ceiling(turn: dict[str, Any], name: str) -> None:
    clock = VirtualClock()

    @tool
    async def work(n: int) -> str:
        """Work."""
        await clock.sleep(1)
        return f"worked {n}"

    async def answer(request: ModelRequest) -> ModelResponse:
        n = len(request.messages)
        return ModelResponse(tool_calls=[ToolCall(str(n), "work", {"n": n})], usage=Usage(1000, 100))

    services = Services(
        models=FunctionModel(answer, prices=(10, 10)), tools=[work], clock=clock, settings={"Budget": {"Turn": turn}}
    )
    response = await twelve(services).run(services.turn("go", session_id="s"))
    assert response.finish_reason == "budget_exceeded"
    assert name in response.text
    assert 3 < response.usage.total_tokens / 1100 < 30
    assert await services.store.usage.reserved() == 0
    from sophon.testing import assert_valid_transcript

    assert_valid_transcript(await services.history("s"))


async def test_alerts_come_once_at_eighty_and_at_a_hundred_percent() -> None:
    events = EventRecorder()
    model = ScriptedModel([ModelResponse("ok", usage=Usage(tokens, 0)) for tokens in (7900, 200, 6000, 6000)])
    settings = {**limits(DailyTokens=20_000), "ToolFilter": {"Top": 1}}
    services = Services(models=model, events=events, settings=settings)
    pipeline = twelve(services)
    shares: list[list[float]] = []
    for _ in range(5):
        await pipeline.run(services.turn("hi"))
        shares.append([each.share for each in events.of(BudgetAlert)])
    assert shares == [[], [], [], [0.8, 1.0], [0.8, 1.0]]
    model.close()


async def test_an_alert_at_eighty_percent() -> None:
    events = EventRecorder()
    model = ScriptedModel([ModelResponse("ok", usage=Usage(8500, 0))])
    services = Services(models=model, events=events, settings=limits(DailyTokens=10_000))
    await twelve(services).run(services.turn("hi"))
    alerts = [(each.provider, each.name, each.share, each.used, each.limit) for each in events.of(BudgetAlert)]
    assert alerts == [("scripted", "DailyTokens", 0.8, 8500, 10_000)]


async def test_a_plans_steps_share_the_turns_ceiling_and_the_plan_ends_with_it() -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        usage = Usage(3000, 100)
        if request.purpose == "plan":
            steps = ",".join(f'{{"id": "s{n}", "description": "do {n}"}}' for n in range(12))
            return ModelResponse(f'{{"goal": "g", "steps": [{steps}]}}', usage=usage)
        return ModelResponse("fine", usage=usage)

    services = Services(models=FunctionModel(answer), settings={"Budget": {"Turn": {"Tokens": 30_000}}})
    response = await twelve(services).run(services.turn("go", planning="Always"))
    assert response.finish_reason == "budget_exceeded"
    assert response.usage.total_tokens <= 30_000
    assert await services.store.usage.reserved() == 0


async def test_a_budget_of_nothing_asks_nobody() -> None:
    model = ScriptedModel([])
    services = Services(models=model, settings=limits(DailyTokens=0))
    assert (await twelve(services).run(services.turn("hi"))).finish_reason == "budget_exceeded"
    assert model.requests == []
