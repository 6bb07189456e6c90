"""The calls of one reply, one after the other."""

import pytest

from sophon import Context, Decision, ModelResponse, Next, Pipeline, Response, Risk, Services, ToolCall, tool
from sophon.errors import CompositionError
from sophon.testing import ScriptedModel
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, Protection, SequentialExecution, ToolExecution
from tests.middlewares.guards.conftest import Gate


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@tool
async def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


def calls(*names: str) -> ModelResponse:
    return ModelResponse("", [ToolCall(f"c{n}", *_split(each)) for n, each in enumerate(names)])


def _split(text: str) -> tuple[str, dict[str, str]]:
    name, _, value = text.partition(" ")
    return name, {"to" if name == "pay" else "at": value}


class Watch:
    """Notes which calls pass together, and what was known of the others then."""

    zone = "inner"
    settling_only = True

    def __init__(self) -> None:
        self.seen: list[tuple[list[str], list[str]]] = []

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if ctx.settling:
            self.seen.append(([each.id for each in ctx.pending], [each.text for each in ctx.results.values()]))
        await next(ctx)


def compose(watch: Watch) -> Pipeline:
    return Pipeline.compose(AgenticLoop(), SequentialExecution(), watch, Approval(), ToolExecution(), LlmInvoker())


async def test_a_call_has_run_before_the_next_one_is_judged() -> None:
    watch, services = Watch(), Services(models=ScriptedModel([calls("look a", "look b"), "done"]), tools=[look])
    ctx = services.turn("look")
    await compose(watch).run(ctx)
    assert watch.seen == [(["c0"], []), (["c1"], ["saw a"])]
    assert [each.content for each in ctx.messages if each.role == "tool"] == ["saw a", "saw b"]


async def test_behind_a_call_that_waits_nobody_is_asked_and_nothing_runs_until_it_is_decided() -> None:
    gate = Gate(decision=Decision.suspend())
    model = ScriptedModel([calls("look a", "pay Bob", "pay Eve", "look b"), "done"])
    watch, services = Watch(), Services(models=model, tools=[look, pay], approvals=gate)
    ctx = services.turn("look and pay")
    response = await compose(watch).run(ctx)
    assert (response.finish_reason, [each.id for each in response.tool_calls]) == ("suspended", ["c1", "c2", "c3"])
    assert [each.arguments for each in gate.asked] == [{"to": "Bob"}]

    gate.decision = Decision.approve()
    restored = services.restore(ctx.state())
    assert (await compose(watch).run(restored)).text == "done"
    results = [each.content for each in restored.messages if each.role == "tool"]
    assert results == ["saw a", "paid Bob", "paid Eve", "saw b"]
    assert [each.arguments["to"] for each in gate.asked] == ["Bob", "Bob", "Eve"]


async def test_a_response_and_an_error_end_the_round_and_the_calls_behind_stay_pending() -> None:
    async def stop(ctx: Context, next: Next) -> None:
        if not ctx.settling:
            await next(ctx)
        elif ctx.pending[0].id == "c1":
            raise ValueError("broken")
        else:
            ctx.settle(ctx.pending[0], "stopped", "denied")
            ctx.response = Response("enough") if ctx.text == "respond" else None

    chain = Pipeline.compose(AgenticLoop(), SequentialExecution(), stop, ToolExecution(), LlmInvoker())
    services = Services(models=ScriptedModel([calls("look a", "look b", "look c")] * 2), tools=[look])
    assert (await chain.run(services.turn("respond"))).text == "enough"
    ctx = services.turn("fail")
    with pytest.raises(ValueError, match="broken"):
        await chain.run(ctx)
    assert [each.id for each in ctx.pending] == ["c1", "c2"]


def test_guards_stand_behind_it_as_behind_parallel_execution() -> None:
    with pytest.raises(CompositionError, match="Protection"):
        Pipeline.compose(AgenticLoop(), Protection(), SequentialExecution(), ToolExecution(), LlmInvoker())
