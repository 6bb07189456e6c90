"""Model hooks: around every model call of every purpose, inside of the call layers, also of steps and sub-agents."""

from typing import get_args

from sophon import Message, ModelRequest, ModelResponse, Services, ToolCall
from sophon.context.state import Step
from sophon.models.model import LAYERED_PURPOSES, Call, CallLayer, Purpose
from sophon.testing import FunctionModel
from tests.tables import table


async def answer(request: ModelRequest) -> str:
    return ""


def note(log: list[str], name: str) -> CallLayer:
    async def wrap(request: ModelRequest, call: Call) -> ModelResponse:
        log.append(f"{name} in")
        request = request.copy_with(messages=[*request.messages, Message("user", name)])
        response = await call(request)
        log.append(f"{name} out")
        return response.copy_with(text=f"{response.text}{name} ")

    return wrap


@table("purpose", get_args(Purpose))
async def test_a_hook_sees_calls_of_every_purpose_as_the_model_does(purpose: Purpose) -> None:
    log: list[str] = []
    model = FunctionModel(answer)
    ctx = Services(models=model).turn("hello")
    with ctx.call_layer(note(log, "layer")), ctx.model_hook(note(log, "first")), ctx.model_hook(note(log, "second")):
        response = await ctx.complete(ctx.request([Message("user", "hello")], purpose=purpose))

    layers = ["layer"] if purpose in LAYERED_PURPOSES else []
    order = [*layers, "first", "second"]
    assert log == [*(f"{each} in" for each in order), *(f"{each} out" for each in reversed(order))]
    assert [each.content for each in model.requests[0].messages] == ["hello", *order]
    assert response.text.split() == [*reversed(order)]


async def test_a_step_a_sub_agent_and_a_tool_call_have_the_hooks_of_their_turn() -> None:
    log: list[str] = []
    ctx = Services(models=FunctionModel(answer)).turn("hello")
    with ctx.model_hook(note(log, "hook")):
        child = ctx.child("do it", Step("one"))
        parts = [
            child,
            child.child("deeper", Step("two")),
            ctx.for_call(ToolCall("c", "t")),
            ctx.restore_child(child.state()),
        ]
        for part in parts:
            await part.complete(part.request([Message("user", "hello")], purpose="evaluation"))
    assert log == ["hook in", "hook out"] * len(parts)
    assert ctx.model_hooks == []
