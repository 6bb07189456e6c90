"""The middleware Trace: what the trace of a turn says, and that a trace never harms the turn."""

import json
from dataclasses import replace
from typing import Any

import pytest

from sophon import Context, ModelRequest, ModelResponse, Pipeline, Risk, Services, ToolCall, Usage, tool
from sophon.chain.pipeline import Next
from sophon.chain.placement import place
from sophon.errors import ProviderUnavailable, RateLimited
from sophon.messages import Response
from sophon.testing import FunctionModel, ScriptedModel, VirtualClock
from sophon.traces import recorder
from sophon.traces.serialization import trace_from_json, trace_to_json, trace_to_stored
from sophon.traces.trace import Trace as TurnTrace
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution, Trace
from sophon_middlewares.chains import twelve

SECRET = "sk-" + "a1B2c3D4" * 6


@tool(risk=Risk.LOW)
async def look(what: str) -> str:
    """Look at something."""
    return f"{what} is there"


async def answer(request: ModelRequest) -> ModelResponse:
    if any(each.role == "tool" for each in request.messages):
        return ModelResponse("done", usage=Usage(20, 5, 30))
    return ModelResponse("", [ToolCall("c1", "look", {"what": f"key {SECRET}"})], Usage(10, 5, 15))


def services(model: Any = None, **more: Any) -> Services:
    return Services(models=model or FunctionModel(answer, name="m"), tools=[look], **more)


async def traced(chosen: Services, **turn: Any) -> TurnTrace:
    pipeline = place(twelve(chosen), [Trace()])
    await pipeline.run(chosen.turn("look", session_id="s", principal="ada", **turn))
    (found,) = await chosen.store.traces.list()
    return found


async def test_a_trace_has_the_turn_its_attempts_its_tool_calls_and_its_totals():
    found = await traced(services())
    assert (found.session_id, found.principal, found.status, found.finish_reason) == ("s", "ada", "completed", "stop")
    assert [(each.purpose, each.outcome, each.usage.input_tokens) for each in found.attempts] == [
        ("reply", "ok", 10),
        ("reply", "ok", 20),
    ]
    (call,) = found.tools
    assert (call.tool, call.outcome, call.risk, call.result_characters > 0) == ("look", "completed", "low", True)
    assert found.usage.input_tokens == 30
    assert found.iterations == 1
    assert len(found.starts) == 1
    assert len(found.trace_id) == 32


async def test_secrets_are_replaced_and_long_arguments_cut():
    found = await traced(services())
    assert SECRET not in json.dumps(trace_to_json(found))
    assert "REDACTED" in found.tools[0].arguments


async def test_each_stage_is_timed_with_its_calls_and_its_own_time():
    clock = VirtualClock()

    async def slow(ctx: Context, next: Next) -> None:
        await clock.sleep(1)
        await next(ctx)
        await clock.sleep(2)

    async def reply(ctx: Context, next: Next) -> None:
        await clock.sleep(4)
        ctx.response = Response("hello", "stop")

    kept: list[TurnTrace] = []
    chosen = services(clock=clock)
    await Pipeline.compose(Trace(kept.append), slow, reply).run(chosen.turn("hi"))
    stages = [(each.name, each.calls, each.total_ms, each.own_ms, each.outcome) for each in kept[0].stages]
    assert stages == [("slow", 1, 7000.0, 3000.0, "passed"), ("reply", 1, 4000.0, 4000.0, "ended")]
    assert kept[0].working_ms == 7000


async def test_the_stages_of_the_inner_zone_are_counted_by_round():
    found = await traced(services())
    calls = {each.name: each.calls for each in found.stages if not each.depth}
    assert (calls["Budget"], calls["LlmInvoker"]) == (1, 2)
    assert calls["ToolExecution"] >= 1


async def test_a_chain_without_trace_measures_nothing():
    chosen = services()
    ctx = chosen.turn("look", session_id="s")
    await twelve(chosen).run(ctx)
    assert ctx.recorder is None
    assert ctx.stage_frame is None
    assert not await chosen.store.traces.list()


async def test_a_failed_turn_says_where_and_why():
    async def fail(request: ModelRequest) -> str:
        raise ProviderUnavailable("it is down", provider="f", model="m")

    kept: list[TurnTrace] = []
    chosen = services(FunctionModel(fail, name="m"), settings={"Failover": {"MaxRetries": 0}}, clock=VirtualClock())
    with pytest.raises(ProviderUnavailable):
        await Pipeline.compose(Trace(kept.append), LlmInvoker()).run(chosen.turn("hi"))
    assert (kept[0].status, kept[0].error["code"]) == ("failed", "provider_unavailable")
    assert kept[0].stages[-1].outcome == "provider_unavailable"
    assert kept[0].fallback_attempts >= 1


async def test_a_fallback_names_each_attempt_and_its_reason():
    async def refuse(request: ModelRequest) -> str:
        raise RateLimited("slow down", provider="a", model="one")

    first = FunctionModel(refuse, name="one")
    second = FunctionModel(lambda request: _say("hello"), name="two")
    chosen = Services(models=[first, second], clock=VirtualClock(), settings={"Failover": {"MaxRetries": 0}})
    found = await traced(chosen)
    assert [each.outcome for each in found.attempts][-1] == "ok"
    assert found.attempts[0].outcome == "rate_limited"
    assert "model_fallback" in [each.kind for each in found.notes]
    assert found.model.endswith("two")


async def _say(text: str) -> str:
    return text


async def test_a_sink_that_fails_does_not_harm_the_turn(caplog: pytest.LogCaptureFixture):
    def fail(trace: TurnTrace) -> None:
        raise ValueError("full")

    chosen = services()
    response = await Pipeline.compose(Trace(fail), AgenticLoop(), ToolExecution(), LlmInvoker()).run(chosen.turn("hi"))
    assert response.text == "done"
    assert "was not kept" in caplog.text


async def test_a_turn_off_the_record_leaves_none():
    chosen = services()
    chosen = chosen.with_parts(learning=replace(chosen.learning, is_enabled=False))
    await place(twelve(chosen), [Trace()]).run(chosen.turn("look", session_id="s"))
    assert not await chosen.store.traces.list()


async def test_events_above_the_bound_are_counted_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder, "MAX_ENTRIES", 10)
    calls = [[ToolCall(f"c{number}", "look", {"what": f"thing {number}"})] for number in range(20)]
    model = ScriptedModel([*calls, "done"])
    chosen = services(model)
    found = await traced(chosen)
    assert len(found.attempts) + 2 * len(found.tools) <= 12
    assert found.left_out > 30


async def test_the_steps_of_a_plan_are_nested():
    plan = {
        "goal": "both",
        "steps": [{"id": "one", "description": "look"}, {"id": "two", "description": "again", "depends_on": ["one"]}],
    }

    async def planned(request: ModelRequest) -> str:
        return json.dumps(plan) if request.purpose == "plan" else "done"

    found = await traced(services(FunctionModel(planned, name="m")), planning="always")
    assert [(each.id, each.status) for each in found.steps] == [("one", "completed"), ("two", "completed")]
    assert {each.step for each in found.attempts} == {"", "one", "two"}
    assert any(each.depth == 1 and each.name == "LlmInvoker" for each in found.stages)


async def test_stored_traces_leave_out_defaults_and_are_read_back():
    found = await traced(services())
    stored = trace_to_stored(found)
    assert "approvals" not in stored
    assert trace_from_json(json.loads(json.dumps(stored))) == found
    assert trace_from_json({**stored, "added_later": 1}) == found
