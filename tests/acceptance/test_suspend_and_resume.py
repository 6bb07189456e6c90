"""Suspend and resume: the state goes through JSON, each tool runs once, no message is recorded twice."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sophon import Context, Decision, Message, ModelRequest, ModelResponse, Response, Risk, Services, ToolCall, tool
from sophon.errors import StateError
from sophon.events import (
    ApprovalRequested,
    LoopWarning,
    TaskCompleted,
    ToolCallCompleted,
    ToolCallStarted,
)
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve

Answerer = Callable[[Any], Decision]


def in_turn(decisions: Sequence[Decision]) -> Answerer:
    left = list(decisions)
    return lambda _: left.pop(0)


class World:
    """Tools that count their runs, a gate that a test rules, and a model that plays a script."""

    def __init__(self, model: Any, gate: Sequence[Decision] | Answerer, **more: Any) -> None:
        self.ran: Counter[str] = Counter()
        self.asked: list[Any] = []
        self.gate = gate if callable(gate) else in_turn(gate)
        self.events = EventRecorder()
        ran = self.ran

        @tool(risk=Risk.HIGH)
        async def grave(what: str) -> str:
            """Bury."""
            ran[f"grave {what}"] += 1
            return f"buried {what}"

        @tool
        def light(what: str) -> str:
            """Light."""
            ran[f"light {what}"] += 1
            return f"lit {what}"

        @tool(risk=Risk.CRITICAL, editable=False)
        async def critical(what: str) -> str:
            """Dangerous."""
            ran[f"critical {what}"] += 1
            return f"did {what}"

        self.model = model
        self.services = Services(
            models=model, tools=[grave, light, critical], approvals=self, events=self.events, clock=VirtualClock(),
            **more,
        )  # fmt: skip
        self.pipeline = twelve(self.services)

    async def request(self, request: Any) -> Decision:
        self.asked.append(request)
        return self.gate(request)

    def again(self, ctx: Context) -> Context:
        return self.services.restore(json.loads(json.dumps(ctx.state())))

    async def through(self, ctx: Context, limit: int = 30) -> tuple[Response, Context, int]:
        """Run, and resume from JSON, until the turn has its outcome."""
        for suspends in range(limit):
            response = await self.pipeline.run(ctx)
            assert await self.services.store.usage.reserved() == 0
            if response.finish_reason != "suspended":
                return response, ctx, suspends
            ctx = self.again(ctx)
        raise AssertionError("it never ends")


def grave(what: str, call_id: str | None = None) -> ToolCall:
    return ToolCall(call_id or f"g-{what}", "grave", {"what": what})


def light(what: str) -> ToolCall:
    return ToolCall(f"l-{what}", "light", {"what": what})


async def test_the_other_calls_are_done_before_the_turn_is_suspended() -> None:
    model = ScriptedModel([[light("a"), grave("b"), light("c")], "done"])
    world = World(model, [Decision.suspend(), Decision.approve()])
    ctx = world.services.turn("go", session_id="s")
    first = await world.pipeline.run(ctx)
    assert first.finish_reason == "suspended"
    assert [call.name for call in first.tool_calls] == ["grave"]
    assert world.ran == {"light a": 1, "light c": 1}
    assert world.events.of(TaskCompleted) == []
    second = await world.pipeline.run(world.again(ctx))
    assert (second.text, second.finish_reason) == ("done", "stop")
    assert world.ran == {"light a": 1, "light c": 1, "grave b": 1}
    tools = [m.content for m in model.requests[1].messages if m.role == "tool"]
    assert tools == ["lit a", "buried b", "lit c"]
    model.close()
    history = await world.services.history("s")
    assert_valid_transcript(history)
    assert [m.role for m in history] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert len(world.events.of(TaskCompleted)) == 1
    assert len(world.events.of(ApprovalRequested)) == 1
    started = Counter(each.call_id for each in world.events.of(ToolCallStarted))
    ended = Counter(each.call_id for each in world.events.of(ToolCallCompleted))
    assert started == ended == {"l-a": 1, "g-b": 1, "l-c": 1}
    assert world.asked[0].id == world.asked[1].id


async def test_many_suspends_in_a_row() -> None:
    model = ScriptedModel([[grave("a"), grave("b")], [light("c"), grave("d")], "done"])
    answers = [Decision.suspend()] * 7
    order = iter([*answers, Decision.approve(), Decision.suspend(), Decision.suspend(), Decision.reject("no"),
                  Decision.suspend(), Decision.suspend(), Decision.edit({"what": "other"})])  # fmt: skip
    world = World(model, lambda _: next(order))
    response, _, suspends = await world.through(world.services.turn("go", session_id="s"))
    assert response.text == "done"
    assert suspends >= 6
    assert max(world.ran.values()) == 1
    assert world.ran["light c"] == 1
    assert world.ran["grave other"] == 1
    assert "grave d" not in world.ran
    assert_valid_transcript(await world.services.history("s"))
    assert len({each.id for each in world.asked}) == 3
    assert len(world.events.of(ApprovalRequested)) == 3
    model.close()


async def test_every_state_that_ever_was_can_be_written_and_read() -> None:
    """At every model call and every tool call, the state goes through JSON and comes back the same."""
    states: list[dict[str, Any]] = []

    @tool
    async def look(ctx: Any) -> str:
        """Look."""
        states.append(json.loads(json.dumps(holder[0].state())))
        return "seen"

    async def answer(request: ModelRequest) -> str | ModelResponse:
        states.append(json.loads(json.dumps(holder[0].state())))
        if request.purpose == "plan":
            steps = [
                {"id": "a", "description": "do a"},
                {"id": "b", "description": "do b", "depends_on": ["a"]},
            ]
            return json.dumps({"goal": "g", "steps": steps})
        if request.purpose == "step" and request.messages[-1].role == "user":
            return ModelResponse("hm", [ToolCall("1", "look", {}), ToolCall("2", "look", {})])
        return "fine"

    services = Services(models=FunctionModel(answer), tools=[look], clock=VirtualClock())
    holder = [services.turn("go", session_id="s", planning="Always")]
    await twelve(services).run(holder[0])
    assert len(states) > 8
    for state in states:
        again = services.restore(state).state()
        assert json.loads(json.dumps(again)) == state


async def test_a_state_goes_on_in_other_services_over_the_same_store() -> None:
    script = [[light("a"), grave("b")], "done"]
    world = World(ScriptedModel(script[:1]), [Decision.suspend()])
    ctx = world.services.turn("go", session_id="s")
    await world.pipeline.run(ctx)
    text = json.dumps(ctx.state())
    other = World(ScriptedModel(script[1:]), [Decision.approve()], store=world.services.store)
    response = await other.pipeline.run(other.services.restore(json.loads(text)))
    assert response.text == "done"
    assert other.ran == {"grave b": 1}
    assert_valid_transcript(await other.services.history("s"))


async def test_the_loop_detectors_window_is_kept() -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        return ModelResponse(tool_calls=[ToolCall("", "grave", {"what": "same"})])

    answers = iter([Decision.suspend(), Decision.approve()] * 50)
    world = World(FunctionModel(answer), lambda _: next(answers))
    response, *_ = await world.through(world.services.turn("go", session_id="s"))
    assert response.finish_reason == "loop_detected"
    assert world.ran["grave same"] == 4
    assert [each.level for each in world.events.of(LoopWarning)] == ["warning", "critical", "critical", "critical"]
    assert_valid_transcript(await world.services.history("s"))


async def test_the_iteration_cap_is_kept() -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        if not request.tools:
            return "that is all I could do"
        return ModelResponse(tool_calls=[grave(str(len(request.messages)))])

    answers = iter([Decision.suspend(), Decision.approve()] * 50)
    world = World(FunctionModel(answer), lambda _: next(answers), settings={"AgentExecution": {"MaxToolIterations": 3}})
    response, *_ = await world.through(world.services.turn("go", session_id="s"))
    assert (response.finish_reason, response.text) == ("max_iterations", "that is all I could do")
    assert sum(world.ran.values()) == 3


def planner(plan: dict[str, Any], *, gated: Sequence[str] = ("risky",)) -> Callable[[ModelRequest], Any]:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        if request.purpose == "plan":
            return "Here it is:\n```json\n" + json.dumps(plan) + "\n```"
        if request.purpose == "step":
            spoken = next(m.content for m in request.messages if m.role == "user").splitlines()[0]
            name = spoken.removeprefix("do ")
            if request.messages[-1].role != "tool":
                calls = [light(name)]
                if name in gated:
                    calls.append(grave(name))
                return ModelResponse(tool_calls=calls)
            return f"{name} is done: " + ", ".join(m.content for m in request.messages if m.role == "tool")
        return "synthesis of " + request.messages[-1].content

    return answer


async def test_two_steps_of_a_plan_wait_at_once() -> None:
    plan = {"goal": "g", "steps": [{"id": n, "description": f"do {n}"} for n in "abc"]}
    order = iter([Decision.suspend(), Decision.suspend(), Decision.suspend(), Decision.approve(), Decision.suspend(),
                  Decision.reject("no")])  # fmt: skip
    world = World(FunctionModel(planner(plan, gated="abc")), lambda _: next(order, Decision.approve()))
    response, *_ = await world.through(world.services.turn("go", planning="Always"))
    assert response.finish_reason == "stop"
    assert max(world.ran.values()) == 1
    assert all(world.ran[f"light {n}"] == 1 for n in "abc")
    assert sum(world.ran[f"grave {n}"] for n in "abc") == 2


async def test_at_the_plans_gate_and_then_inside_it() -> None:
    plan = {"goal": "g", "steps": [{"id": "a", "description": "do a", "estimated_risk": "medium"},
                                   {"id": "b", "description": "do b", "depends_on": ["a"]}]}  # fmt: skip
    answers = iter([Decision.suspend(), Decision.suspend(), Decision.approve(), Decision.suspend(), Decision.approve()])
    world = World(FunctionModel(planner(plan, gated="a")), lambda _: next(answers))
    response, _, suspends = await world.through(world.services.turn("go", session_id="s", planning="Always"))
    assert suspends == 3
    assert response.finish_reason == "stop"
    assert [each.kind for each in world.asked] == ["plan", "plan", "plan", "tool", "tool"]
    assert world.ran == {"light a": 1, "grave a": 1, "light b": 1}


async def test_a_resume_streams_only_what_is_new() -> None:
    model = ScriptedModel([ModelResponse("let me ", [grave("a")]), "all done"], stream=1)
    world = World(model, [Decision.suspend(), Decision.approve()])
    response, *_ = await world.through(world.services.turn("go", stream=True))
    from sophon.events import StreamChunk

    text = "".join(each.text for each in world.events.of(StreamChunk))
    assert response.text == "all done"
    assert text == "let me all done"


async def test_a_turn_in_another_session_goes_on_while_one_is_suspended() -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        if "bury" in request.messages[-1].content and request.messages[-1].role == "user":
            return ModelResponse(tool_calls=[grave("x")])
        return "hello " + str(len(request.messages))

    answers = iter([Decision.suspend(), Decision.approve()])
    world = World(FunctionModel(answer), lambda _: next(answers))
    ctx = world.services.turn("bury it", session_id="one")
    await world.pipeline.run(ctx)
    assert (await world.pipeline.run(world.services.turn("hi", session_id="two"))).text == "hello 1"
    assert (await world.pipeline.run(world.again(ctx))).text == "hello 3"


@pytest.mark.parametrize("state", [{}, [], None, 3, {"version": 1}, {"version": 99}, "text"])
def test_a_state_that_is_none_is_a_clear_error(state: Any) -> None:
    with pytest.raises(StateError):
        Services().restore(state)


async def test_the_history_before_is_not_loaded_or_recorded_twice() -> None:
    model = ScriptedModel(["first", [light("a"), grave("b")], "second", "third"])
    world = World(model, [Decision.suspend(), Decision.approve()])
    await world.pipeline.run(world.services.turn("one", session_id="s"))
    await world.through(world.services.turn("two", session_id="s"))
    await world.pipeline.run(world.services.turn("three", session_id="s"))
    history = await world.services.history("s")
    assert [m.content for m in history if m.role == "user"] == ["one", "two", "three"]
    assert [m.content for m in history if m.role == "assistant"] == ["first", "", "second", "third"]
    last: list[Message] = model.requests[-1].messages
    assert [m.content for m in last] == [m.content for m in history[:-1]]
