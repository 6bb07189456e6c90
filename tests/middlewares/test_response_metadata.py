"""Numbers of a response: rounds of tool calls, and attempts beyond the first."""

from sophon import ModelRequest, Services
from sophon.errors import RateLimited
from sophon.events import TaskCompleted
from sophon.messages import ToolCall
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelResponse
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock
from sophon_middlewares.chains import clawdesk, twelve


def compute(call_id: str) -> ModelResponse:
    return ModelResponse("", [ToolCall(call_id, "calculator", {"expression": call_id + "+1"})])


async def hello(request: ModelRequest) -> str:
    return "hello"


async def test_rounds_of_tool_calls_are_counted() -> None:
    events = EventRecorder()
    services = Services(models=ScriptedModel([compute("1"), compute("2"), "3"]), clock=VirtualClock(), events=events)
    response = await twelve(services).run(services.turn("add"))
    assert (response.tool_rounds, response.fallback_attempts) == (2, 0)
    [end] = events.of(TaskCompleted)
    assert (end.tool_rounds, end.fallback_attempts) == (2, 0)


async def test_attempts_beyond_the_first_are_counted_over_models() -> None:
    async def limited(request: ModelRequest) -> str:
        raise RateLimited("slow down")

    async def answer(request: ModelRequest) -> str:
        return "hello"

    services = Services(
        models=[Provider("a", [FunctionModel(limited)]), Provider("b", [FunctionModel(answer)])], clock=VirtualClock()
    )
    response = await twelve(services).run(services.turn("hi"))
    assert response.text == "hello"
    assert response.fallback_attempts == 4, "three retries of the first model, then the second"


async def test_the_model_that_answered_is_named_also_after_another_failed_and_in_a_resumed_turn() -> None:
    async def limited(request: ModelRequest) -> str:
        raise RateLimited("slow down")

    events = EventRecorder()
    models = [FunctionModel(limited, name="limited"), FunctionModel(hello, name="hello")]
    services = Services(models=models, clock=VirtualClock(), events=events)
    ctx = services.turn("hi")
    response = await clawdesk(services).run(ctx)
    assert response.model == "hello/hello"
    assert [end.model for end in events.of(TaskCompleted)] == ["hello/hello"]
    assert services.restore(ctx.state()).tally.model == "hello/hello"


async def test_the_temperature_of_the_message_is_that_of_its_replies() -> None:
    seen: list[float | None] = []

    async def answer(request: ModelRequest) -> str:
        seen.append(request.temperature)
        return "hello"

    services = Services(models=FunctionModel(answer), clock=VirtualClock())
    await twelve(services).run(services.turn("hi", temperature=0.3))
    restored = services.restore(services.turn("hi", temperature=0.3).state())
    assert restored.temperature == 0.3
    await twelve(services).run(services.turn("hi"))
    assert seen == [0.3, None]
