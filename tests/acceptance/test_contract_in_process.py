"""Contract, in-process: the names, the defaults and the alternative usages that it permits."""

import asyncio
import dataclasses
import json
import subprocess
import sys
from typing import Any

import pytest

import sophon_middlewares
from sophon import (
    Context,
    Decision,
    Message,
    ModelRequest,
    ModelResponse,
    Next,
    Pipeline,
    Response,
    Risk,
    Services,
    ToolCall,
    ToolResult,
    Usage,
    tool,
)
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve


@tool(risk=Risk.HIGH, tags=("mail",))
async def send_mail(to: str, body: str) -> str:
    """Send a mail."""
    return f"sent {body!r} to {to}"


TWELVE = """SessionEvents Budget CapabilityRouting ContextWindow ToolFilter PromptToolBridge Planning AgenticLoop
ParallelExecution Approval ToolExecution LlmInvoker"""


@pytest.mark.parametrize("name", TWELVE.split())
def test_each_of_the_twelve_is_made_without_arguments(name: str) -> None:
    assert callable(getattr(sophon_middlewares, name)())


def test_values_compare_and_print() -> None:
    assert Message("user", "hi") == Message(role="user", content="hi")
    assert ToolCall(id="1", name="a", arguments={"x": 1}) == ToolCall("1", "a", {"x": 1})
    assert Usage(input_tokens=1, output_tokens=2) + Usage(3, 4) == Usage(4, 6)
    assert Response(text="a", finish_reason="stop").text == "a"
    assert ModelResponse(text="", tool_calls=[], usage=None).text == ""
    assert dataclasses.is_dataclass(ToolResult)
    assert "hi" in repr(Message("user", "hi"))
    assert Risk.NONE < Risk.LOW < Risk.MEDIUM < Risk.HIGH < Risk.CRITICAL


async def test_the_example_of_the_contract_as_it_stands() -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.messages[-1].role == "user":
            assert "send_mail" in [each.name for each in request.tools]
            assert request.purpose == "reply"
            arguments = {"to": "Ada", "body": "Hello"}
            return ModelResponse(tool_calls=[ToolCall(id="1", name="send_mail", arguments=arguments)])
        return f"Result: {request.messages[-1].content}"

    services = Services(models=FunctionModel(answer), tools=[send_mail])
    pipeline = twelve(services)
    ctx = services.turn("Write to Ada", session_id="demo")
    assert ctx.response is None
    assert [each.role for each in ctx.messages] == ["user"]
    response = await pipeline.run(ctx)
    assert response.finish_reason == "stop"
    assert "denied" in response.text
    assert response.usage.total_tokens > 0
    assert response.tool_calls == []
    assert [m.role for m in await services.history("demo")] == ["user", "assistant", "tool", "assistant"]


def test_services_read_no_environment() -> None:
    code = (
        "import asyncio\nfrom sophon import Services\nfrom sophon_middlewares.chains import twelve\n"
        "s = Services()\nr = asyncio.run(twelve(s).run(s.turn('What is 6 * 7?')))\nprint(r.text)"
    )
    environment = {"OPENAI_API_KEY": "sk-nothing", "SOPHON__ToolFilter__Top": "0", "PATH": "/usr/bin"}
    paths = ":".join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": paths},
        check=False,
    )
    assert "42" in done.stdout, done.stderr


async def test_a_scripts_steps_of_every_kind() -> None:
    script = [
        [ToolCall(id="1", name="calculator", arguments={"expression": "2*3"})],
        ModelResponse("more", tool_calls=[ToolCall("2", "calculator", {"expression": "3*3"})]),
        ModelResponse(tool_calls=[ToolCall("3", "calculator", {"expression": "4*4"})]),
        ConnectionError("once"),
        "done",
    ]
    with ScriptedModel(script) as model:
        services = Services(models=model, clock=VirtualClock())
        assert (await twelve(services).run(services.turn("go"))).text == "done"
        assert [m.content for m in model.requests[-1].messages if m.role == "tool"] == ["6", "9", "16"]


class ModelOfOnesOwn:
    """The info of a test model, and a complete of its own."""

    info = FunctionModel(lambda request: asyncio.sleep(0, "x"), name="own").info

    async def complete(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse("from my own class")


async def test_a_model_of_ones_own_class() -> None:
    services = Services(models=ModelOfOnesOwn())
    assert (await twelve(services).run(services.turn("hi"))).text == "from my own class"


async def test_models_as_a_tuple_and_an_object_with_call_as_function() -> None:
    class Answering:
        async def __call__(self, request: ModelRequest) -> str:
            return "called"

    class Bound:
        async def answer(self, request: ModelRequest) -> str:
            return "bound"

    for function, text in ((Answering(), "called"), (Bound().answer, "bound")):
        services = Services(models=(FunctionModel(function),))
        assert (await twelve(services).run(services.turn("hi"))).text == text


async def test_gates_of_every_shape() -> None:
    class Static:
        @staticmethod
        async def request(request: Any) -> Decision:
            return Decision.approve()

    class OfTheClass:
        @classmethod
        async def request(cls, approval: Any) -> Decision:
            return Decision.approve()

    class Counting:
        def __init__(self) -> None:
            self.asked = 0

        async def request(self, req: Any) -> Decision:
            self.asked += 1
            return Decision.approve()

    for gate in (Static(), Static, OfTheClass(), OfTheClass, Counting()):
        arguments = {"to": "a", "body": "b"}
        services = Services(
            models=ScriptedModel([[ToolCall("1", "send_mail", arguments)], "ok"]), tools=[send_mail], approvals=gate
        )
        await twelve(services).run(services.turn("go", session_id="s"))
        assert (await services.history("s"))[2].content == "sent 'b' to a"


async def test_decisions_read_as_the_contract_writes_them() -> None:
    assert Decision.reject("why").reason == "why"
    assert Decision.edit({"a": 1}).arguments == {"a": 1}
    assert Decision.approve() == Decision.approve()
    assert Decision.suspend() != Decision.approve()


def test_the_transcript_assertion_finds_every_fault() -> None:
    call = ToolCall("1", "a", {})
    good = [Message("user", "x"), Message("assistant", "", [call]), Message("tool", "r", tool_call_id="1")]
    assert_valid_transcript(good)
    bad: list[list[Message]] = [
        good[:2],
        [good[0], good[2]],
        [*good, good[2]],
        [good[0], good[1], Message("user", "y"), good[2]],
        [good[0], good[1], Message("tool", "r", tool_call_id="other")],
        [good[1], good[2]],
        [*good, Message("system", "late")],
    ]
    for messages in bad:
        with pytest.raises(AssertionError):
            assert_valid_transcript(messages)


async def test_services_in_a_with_block_and_a_store_that_is_shared() -> None:
    async with Services(models=ScriptedModel(["one"])) as services:
        await twelve(services).run(services.turn("a", session_id="s"))
        store = services.store
    other = Services(models=ScriptedModel(["two"]), store=store)
    await twelve(other).run(other.turn("b", session_id="s"))
    assert [m.content for m in await other.history("s")] == ["a", "one", "b", "two"]


async def test_events_carry_whose_they_are_and_are_ready_for_json() -> None:
    events = EventRecorder()
    model = ScriptedModel([[ToolCall("1", "calculator", {"expression": "1"})], "ok"], stream=True)
    services = Services(models=model, events=events, clock=VirtualClock())
    ctx = services.turn("hi", session_id="s", stream=True, principal="ada")
    await twelve(services).run(ctx)
    assert len(events.events) > 5
    for event in events.events:
        assert event.session_id == "s"
        assert event.task_id == ctx.run_id
        json.dumps(event.to_wire())


async def test_a_middleware_may_put_a_system_message_in_and_a_tool_out() -> None:
    async def prompt(ctx: Context, next: Next) -> None:
        ctx.messages.insert(0, Message("system", "You are a pirate."))
        ctx.tools = [each for each in ctx.tools if each.name != "system.execute"]
        await next(ctx)

    model = ScriptedModel(["arr", "arr again"])
    services = Services(models=model)
    chain = list(twelve(services))
    pipeline = Pipeline.compose(chain[0], prompt, *chain[1:])
    for text in ("a", "b"):
        await pipeline.run(services.turn(text, session_id="s"))
    for request in model.requests:
        assert request.messages[0].content == "You are a pirate."
        assert sum(m.role == "system" for m in request.messages) == 1
        assert_valid_transcript(request.messages)
    assert [m.content for m in await services.history("s")] == ["a", "arr", "b", "arr again"]


async def test_a_middleware_behind_session_events_sees_the_response_and_may_change_it() -> None:
    async def shout(ctx: Context, next: Next) -> None:
        await next(ctx)
        assert ctx.response is not None
        ctx.response = dataclasses.replace(ctx.response, text=ctx.response.text.upper())

    services = Services(models=ScriptedModel(["quiet"]))
    chain = twelve(services)
    response = await Pipeline.compose(*chain[:1], shout, *chain[1:]).run(services.turn("hi"))
    assert response.text == "QUIET"
