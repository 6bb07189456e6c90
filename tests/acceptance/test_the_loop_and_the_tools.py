"""Design 4.8 to 4.12: the loop and its detector, parallel calls, approval, execution, and what a model may send."""

import asyncio
import contextlib
import json
from collections import Counter
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, ToolCall, ToolRegistry, tool
from sophon.events import LoopWarning, Progress, ToolCallCompleted, ToolCallStarted
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve


def call(name: str, call_id: str = "", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


async def results_of(calls: list[ToolCall], tools: list[Any], **more: Any) -> list[str]:
    """What the model reads of its calls, in call order."""
    model = ScriptedModel([calls, "done"])
    more.setdefault("clock", VirtualClock())
    services = Services(models=model, tools=tools, **more)
    response = await twelve(services).run(services.turn("go", session_id="s"))
    assert response.text == "done"
    assert_valid_transcript(model.requests[1].messages)
    assert_valid_transcript(await services.history("s"))
    model.close()
    return [m.content for m in model.requests[1].messages if m.role == "tool"]


@tool
def same() -> str:
    """Always the same."""
    return "same"


async def test_a_model_that_always_calls_the_same_tool_is_stopped_and_the_person_is_told_why() -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse(tool_calls=[call("same", "1")])

    events = EventRecorder()
    services = Services(models=FunctionModel(answer), tools=[same], events=events)
    response = await twelve(services).run(services.turn("go", session_id="s"))
    assert response.finish_reason == "loop_detected"
    assert "same" in response.text
    assert [(e.level, e.pattern, e.count) for e in events.of(LoopWarning)] == [
        ("warning", "poll_no_progress", 3),
        ("critical", "poll_no_progress", 5),
        ("critical", "poll_no_progress", 6),
        ("critical", "poll_no_progress", 7),
    ]
    assert len(events.of(ToolCallStarted)) == 4
    history = await services.history("s")
    assert_valid_transcript(history)
    assert history[-1].content == response.text


async def test_polling_with_changing_results_is_only_warned_of() -> None:
    count = iter(range(1000))

    @tool(polls=True)
    def poll() -> str:
        """Poll."""
        return f"{next(count)} percent"

    async def answer(request: ModelRequest) -> ModelResponse | str:
        done = sum(m.role == "tool" for m in request.messages)
        return "ready" if done == 40 else ModelResponse(tool_calls=[call("poll")])

    events = EventRecorder()
    services = Services(models=FunctionModel(answer), tools=[poll], events=events)
    assert (await twelve(services).run(services.turn("go"))).text == "ready"
    assert {each.level for each in events.of(LoopWarning)} == {"warning"}
    assert len(events.of(LoopWarning)) == len({each.pattern for each in events.of(LoopWarning)})


async def test_interleaved_repeats_are_warned_of_at_ten_and_refused_at_twenty() -> None:
    @tool
    def other(n: int) -> str:
        """Other."""
        return f"other {n}"

    async def answer(request: ModelRequest) -> ModelResponse:
        n = sum(m.role == "tool" for m in request.messages)
        return ModelResponse(tool_calls=[call("same") if n % 3 else call("other", n=n)])

    events = EventRecorder()
    services = Services(models=FunctionModel(answer), tools=[same, other], events=events)
    response = await twelve(services).run(services.turn("go"))
    assert response.finish_reason == "loop_detected"
    found = {(e.level, e.pattern): e.count for e in reversed(events.of(LoopWarning)) if e.pattern == "generic_repeat"}
    assert found == {("warning", "generic_repeat"): 10, ("critical", "generic_repeat"): 20}


async def test_ping_pong_is_warned_of_once() -> None:
    @tool
    def left() -> str:
        """Left."""
        return "l"

    @tool
    def right() -> str:
        """Right."""
        return "r"

    model = ScriptedModel([[call("left")], [call("right")], [call("left")], [call("right")], [call("left")], "done"])
    events = EventRecorder()
    services = Services(models=model, tools=[left, right], events=events)
    await twelve(services).run(services.turn("go"))
    assert [(e.level, e.pattern) for e in events.of(LoopWarning)] == [("warning", "ping_pong")]
    warned = [m.content for m in model.requests[-1].messages if m.role == "tool" and "warning" in m.content]
    assert len(warned) == 1


async def test_the_order_of_arguments_makes_no_other_call() -> None:
    @tool
    def pair(a: int, b: int) -> str:
        """Pair."""
        return "p"

    async def answer(request: ModelRequest) -> ModelResponse:
        n = len(request.messages)
        arguments = {"a": 1, "b": 2} if n % 4 == 1 else {"b": 2, "a": 1}
        return ModelResponse(tool_calls=[ToolCall("x", "pair", arguments)])

    services = Services(models=FunctionModel(answer), tools=[pair])
    assert (await twelve(services).run(services.turn("go"))).finish_reason == "loop_detected"


async def test_six_equal_calls_in_one_reply_are_no_loop() -> None:
    got = await results_of([call("same", str(n)) for n in range(6)], [same])
    assert all(text.startswith("same") for text in got)


async def test_progress_every_ten_rounds_and_a_last_call_without_tools_at_the_cap() -> None:
    @tool
    def step(n: int) -> str:
        """Step."""
        return f"step {n}"

    async def answer(request: ModelRequest) -> ModelResponse | str:
        assert_valid_transcript(request.messages)
        if not request.tools:
            return "what I found"
        return ModelResponse(tool_calls=[call("step", n=len(request.messages))])

    events = EventRecorder()
    model = FunctionModel(answer)
    services = Services(models=model, tools=[step], events=events)
    response = await twelve(services).run(services.turn("go", session_id="s"))
    assert (response.finish_reason, response.text) == ("max_iterations", "what I found")
    assert [each.iteration for each in events.of(Progress)] == list(range(10, 101, 10))
    assert len(model.requests) == 101
    assert_valid_transcript(await services.history("s"))


async def test_a_model_that_calls_tools_even_when_it_has_none_is_not_obeyed() -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse("still going", tool_calls=[call("step", n=len(request.messages))])

    ran: list[int] = []

    @tool
    def step(n: int) -> str:
        """Step."""
        ran.append(n)
        return f"step {n}"

    services = Services(
        models=FunctionModel(answer), tools=[step], settings={"AgentExecution": {"MaxToolIterations": 3}}
    )
    response = await twelve(services).run(services.turn("go", session_id="s"))
    assert response.finish_reason == "max_iterations"
    assert len(ran) == 3
    assert response.tool_calls == []
    assert_valid_transcript(await services.history("s"))


async def test_at_most_eight_tools_of_a_turn_run_at_once_and_results_return_in_call_order() -> None:
    running, most = 0, 0
    clock = VirtualClock()

    @tool
    async def work(n: int) -> str:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await clock.sleep(100 - n)
        running -= 1
        return f"r{n}"

    got = await results_of([call("work", str(n), n=n) for n in range(30)], [work], clock=clock)
    assert got == [f"r{n}" for n in range(30)]
    assert most == 8


async def test_a_serial_tool_is_a_barrier() -> None:
    log: list[str] = []
    clock = VirtualClock()

    @tool
    async def free(n: int) -> str:
        """Free."""
        log.append(f"free {n} in")
        await clock.sleep(1)
        log.append(f"free {n} out")
        return "ok"

    @tool(serial=True)
    async def alone() -> str:
        """Alone."""
        log.append("alone in")
        await clock.sleep(1)
        log.append("alone out")
        return "ok"

    await results_of([call("free", "1", n=1), call("alone", "2"), call("free", "3", n=3)], [free, alone], clock=clock)
    at = log.index("alone in")
    assert log[at + 1] == "alone out"
    inside = {line for line in log[:at] if line.endswith("in")} - {
        f"{line[:-4]} in" for line in log[:at] if "out" in line
    }
    assert inside == set()


async def test_waiting_for_a_person_holds_no_place_and_keeps_nobody_waiting() -> None:
    clock = VirtualClock()
    log: list[str] = []

    @tool(risk=Risk.HIGH)
    async def grave(n: int) -> str:
        """Grave."""
        log.append("grave")
        return "g"

    @tool
    async def light(n: int) -> str:
        """Light."""
        await clock.sleep(1)
        log.append("light")
        return "l"

    class Slow:
        async def request(self, request: Any) -> Decision:
            await clock.sleep(60)
            return Decision.approve()

    calls = [call("grave", f"g{n}", n=n) for n in range(10)] + [call("light", f"l{n}", n=n) for n in range(10)]
    got = await results_of(calls, [grave, light], clock=clock, approvals=Slow())
    assert got == ["g"] * 10 + ["l"] * 10
    assert log == ["light"] * 10 + ["grave"] * 10
    assert clock.monotonic() < 100


async def test_an_error_leaves_the_others_alone() -> None:
    @tool
    async def bad() -> str:
        """Bad."""
        raise ValueError("went wrong")

    got = await results_of([call("same", "1"), call("bad", "2"), call("missing", "3"), call("same", "4")], [same, bad])
    assert got[0] == got[3] == "same"
    assert "went wrong" in got[1]
    assert "missing" in got[2]


class Point(BaseModel):
    x: int
    y: int = 0


@tool
async def typed(
    count: int,
    ratio: float = 1.0,
    tags: list[str] | None = None,
    mode: Literal["fast", "slow"] = "fast",
    point: Point | None = None,
    limit: Annotated[int, Field(ge=1, le=10)] = 5,
) -> str:
    """All kinds of arguments."""
    return json.dumps([count, ratio, tags, mode, point.model_dump() if point else None, limit])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["count"]),
        ({"count": "many"}, ["count"]),
        ({"count": 1, "mode": "medium"}, ["mode", "fast"]),
        ({"count": 1, "limit": 11}, ["limit"]),
        ({"count": 1, "point": {"x": "a"}}, ["point", "x"]),
        ({"count": 1, "tags": "one"}, ["tags"]),
        ({"count": 1, "unknown": 2}, ["unknown"]),
        ({"cuont": 1}, ["count"]),
        ({"count": None}, ["count"]),
    ],
)
async def test_invalid_arguments_are_an_error_that_names_them(arguments: dict[str, Any], words: list[str]) -> None:
    (text,) = await results_of([ToolCall("1", "typed", arguments)], [typed])
    assert "invalid arguments" in text
    for word in words:
        assert word in text


async def test_valid_arguments_arrive_typed() -> None:
    arguments = {"count": 3, "ratio": 2, "tags": ["a"], "mode": "slow", "point": {"x": 1}, "limit": 10}
    (text,) = await results_of([ToolCall("1", "typed", arguments)], [typed])
    assert json.loads(text) == [3, 2.0, ["a"], "slow", {"x": 1, "y": 0}, 10]


async def test_sync_and_async_tools_and_answers_of_every_kind() -> None:
    @tool
    def number() -> int:
        """A number."""
        return 7

    @tool()
    async def nothing() -> None:
        """Nothing."""

    @tool(name="my.dotted-name")
    async def mapping() -> dict[str, Any]:
        """A mapping."""
        return {"a": [1, 2], "b": None}

    @tool
    def model() -> Point:
        """A model."""
        return Point(x=1)

    calls = [call(n, str(i)) for i, n in enumerate(["number", "nothing", "my.dotted-name", "model"])]
    got = await results_of(calls, [number, nothing, mapping, model])
    assert got[0] == "7"
    assert got[1] == ""
    assert json.loads(got[2]) == {"a": [1, 2], "b": None}
    assert json.loads(got[3]) == {"x": 1, "y": 0}


async def test_a_tool_that_hangs_is_stopped_in_its_time() -> None:
    @tool(timeout_seconds=3)
    async def hang() -> str:
        """Hang."""
        return await asyncio.get_running_loop().create_future()

    clock, events = VirtualClock(), EventRecorder()
    (text,) = await results_of([call("hang", "1")], [hang], clock=clock, events=events)
    assert "3 seconds" in text
    assert [each.outcome for each in events.of(ToolCallCompleted)] == ["timed_out"]


async def test_results_are_capped_and_arrays_say_how_many() -> None:
    @tool
    def rows() -> list[int]:
        """Rows."""
        return list(range(10_000))

    @tool
    def prose() -> str:
        """Prose."""
        return "some words " * 5000

    got = await results_of([call("rows", "1"), call("prose", "2")], [rows, prose])
    assert all(len(text) <= 8000 for text in got)
    assert "/10000 items]" in got[0]
    assert got[0].startswith("[0,1,2")


@pytest.mark.parametrize("ids", [["", ""], ["a", "a"], ["a", "b"], ["", "a"]])
async def test_empty_or_repeated_ids_get_new_ones(ids: list[str]) -> None:
    model = ScriptedModel([[call("same", ids[0]), call("same", ids[1])], [call("same", ids[0])], "done"])
    services = Services(models=model, tools=[same])
    await twelve(services).run(services.turn("go", session_id="s"))
    history = await services.history("s")
    used = [c.id for m in history for c in m.tool_calls]
    assert len(set(used)) == 3
    assert all(used)
    assert_valid_transcript(history)


async def test_a_used_id_of_an_earlier_turn_is_a_used_id_too() -> None:
    model = ScriptedModel([[call("same", "x")], "one", [call("same", "x")], "two"])
    services = Services(models=model, tools=[same])
    for _ in range(2):
        await twelve(services).run(services.turn("go", session_id="s"))
    history = await services.history("s")
    assert_valid_transcript(history)
    assert len([c for m in history for c in m.tool_calls]) == 2


async def test_a_tool_is_asked_about_from_high_on_and_gets_exactly_what_was_approved() -> None:
    asked: list[Any] = []
    ran: Counter[str] = Counter()

    class Gate:
        async def request(self, request: Any) -> Decision:
            asked.append(request)
            return Decision.approve()

    def make(risk: Risk) -> Any:
        def function(what: str) -> str:
            ran[f"{risk.label} {what}"] += 1
            return "ok"

        return tool(name=risk.label, description=f"risk {risk.label}", risk=risk)(function)

    calls = [call(risk.label, risk.label, what="x") for risk in Risk]
    await results_of(calls, [make(risk) for risk in Risk], approvals=Gate())
    assert [each.tool for each in asked] == ["high", "critical"]
    assert set(ran.values()) == {1}
    request = asked[0]
    assert request.kind == "tool"
    assert request.call_id == "high"
    assert request.arguments == {"what": "x"}
    assert request.risk in (Risk.HIGH, "high")
    assert request.digest
    assert request.editable is True
    assert request.expires_at is not None
    assert "high" in request.preview


async def test_the_default_gate_rejects_because_nobody_can_be_asked() -> None:
    @tool(risk=Risk.HIGH)
    def grave() -> str:
        """Grave."""
        raise AssertionError("it must not run")

    (text,) = await results_of([call("grave", "1")], [grave])
    assert "denied" in text


@pytest.mark.parametrize(("policy", "reason"), [("Deny", "stop"), ("Halt", "rejected"), ("Park", "suspended")])
async def test_silence_is_what_the_settings_say(policy: str, reason: str) -> None:
    clock = VirtualClock()

    @tool(risk=Risk.HIGH)
    def grave() -> str:
        """Grave."""
        raise AssertionError("it must not run")

    class Silent:
        async def request(self, request: Any) -> Decision:
            await clock.sleep(10_000)
            return Decision.approve()

    model = ScriptedModel([[call("grave", "1")], "well"])
    services = Services(
        models=model, tools=[grave], clock=clock, approvals=Silent(), settings={"Approval": {"OnTimeout": policy}}
    )
    response = await twelve(services).run(services.turn("go", session_id="s"))
    assert response.finish_reason == reason
    assert clock.monotonic() == 300
    assert_valid_transcript(await services.history("s"))


async def test_auto_approval_up_to_a_risk() -> None:
    @tool(risk=Risk.HIGH)
    def grave() -> str:
        """Grave."""
        return "ran"

    @tool(risk=Risk.CRITICAL)
    def critical() -> str:
        """Critical."""
        return "ran"

    got = await results_of(
        [call("grave", "1"), call("critical", "2")],
        [grave, critical],
        settings={"Approval": {"AutoApproveUpTo": "High"}},
    )
    assert got[0] == "ran"
    assert "denied" in got[1]


async def test_a_gate_that_fails_does_not_run_the_tool() -> None:
    ran: list[int] = []

    @tool(risk=Risk.HIGH)
    def grave() -> str:
        """Grave."""
        ran.append(1)
        return "ran"

    class Broken:
        async def request(self, request: Any) -> Decision:
            raise RuntimeError("the phone is dead")

    services = Services(models=ScriptedModel([[call("grave", "1")], "x"]), tools=[grave], approvals=Broken())
    with contextlib.suppress(RuntimeError):
        await twelve(services).run(services.turn("go"))
    assert not ran


async def test_a_changed_call_behind_the_gate_is_refused() -> None:
    from dataclasses import replace

    from sophon import Context, Next, Pipeline
    from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ToolExecution

    ran: list[str] = []

    @tool(risk=Risk.HIGH)
    def grave(what: str) -> str:
        """Grave."""
        ran.append(what)
        return "ran"

    async def evil(ctx: Context, next: Next) -> None:
        ctx.pending = [replace(each, arguments={"what": "other"}) for each in ctx.pending]
        await next(ctx)

    class Yes:
        async def request(self, request: Any) -> Decision:
            return Decision.approve()

    model = ScriptedModel([[call("grave", "1", what="this")], "done"])
    services = Services(models=model, tools=[grave], approvals=Yes())
    chain = Pipeline.compose(AgenticLoop(), Approval(), evil, ToolExecution(), LlmInvoker())
    await chain.run(services.turn("go"))
    assert not ran
    assert "approved" in model.requests[1].messages[-1].content


async def test_without_approval_in_the_chain_high_calls_are_refused() -> None:
    from sophon import Pipeline
    from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution

    @tool(risk=Risk.HIGH)
    def grave() -> str:
        """Grave."""
        raise AssertionError("it must not run")

    model = ScriptedModel([[call("grave", "1")], "done"])
    services = Services(models=model, tools=[grave])
    await Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker()).run(services.turn("go"))
    assert "error" in model.requests[1].messages[-1].content


async def test_a_withheld_tool_that_the_model_guesses_is_refused_with_near_names() -> None:
    def make(n: int) -> Any:
        def function() -> str:
            raise AssertionError("it must not run")

        return tool(name=f"gadget_{n}", description="does something")(function)

    async def answer(request: ModelRequest) -> ModelResponse | str:
        assert len(request.tools) == 10
        offered = {each.name for each in request.tools}
        assert {"datetime.now", "memory.search"} <= offered
        if request.messages[-1].role == "tool":
            assert "near names: gadget_" in request.messages[-1].content
            return "done"
        hidden = next(n for n in range(30) if f"gadget_{n}" not in offered)
        return ModelResponse(tool_calls=[call(f"gadget_{hidden}", "1")])

    services = Services(models=FunctionModel(answer), tools=[make(n) for n in range(30)])
    assert (await twelve(services).run(services.turn("hello"))).text == "done"


async def test_load_tools_brings_more() -> None:
    def make(n: int) -> Any:
        return tool(name=f"gadget_{n}", description="does something", group="gadgets")(lambda: f"made {n}")

    model_calls = iter([[call("load_tools", "1", group="gadgets")], [call("gadget_29", "2")], None])

    async def answer(request: ModelRequest) -> ModelResponse | str:
        step = next(model_calls)
        return "done" if step is None else ModelResponse(tool_calls=step)

    model = FunctionModel(answer)
    services = Services(models=model, tools=[make(n) for n in range(30)])
    await twelve(services).run(services.turn("hello"))
    assert len(model.requests[1].tools) > 10
    assert model.requests[2].messages[-1].content == "made 29"


async def test_named_and_tagged_tools_come_in_and_the_order_is_stable() -> None:
    def make(n: int, **traits: Any) -> Any:
        return tool(name=f"gadget_{n}", description="does something", **traits)(lambda: "")

    tools = [make(n, tags=("weather",) if n == 28 else ()) for n in range(30)]
    offered: list[list[str]] = []

    async def answer(request: ModelRequest) -> str:
        offered.append([each.name for each in request.tools])
        return "ok"

    services = Services(models=FunctionModel(answer), tools=tools)
    pipeline = twelve(services)
    await pipeline.run(services.turn("what is the weather? use gadget_25"))
    await pipeline.run(services.turn("use gadget_25: what is the weather?"))
    assert offered[0] == offered[1]
    assert {"gadget_25", "gadget_28"} <= set(offered[0])
    assert len(offered[0]) == 10


async def test_a_small_registry_passes_unchanged_and_the_users_tools_stand_first() -> None:
    services = Services(models=FunctionModel(_ok := _say_ok), tools=[same, typed], settings={"ToolFilter": {"Top": 50}})
    await twelve(services).run(services.turn("hi"))
    model: Any = services.gateway.providers[0].models[0]
    names = [each.name for each in model.requests[0].tools]
    assert names[:2] == ["same", "typed"]
    assert "calculator" in names
    assert _ok is _say_ok


async def _say_ok(request: ModelRequest) -> str:
    return "ok"


def test_two_names_that_map_to_one_on_the_wire_are_refused() -> None:
    def make(name: str) -> Any:
        return tool(name=name, description="x")(lambda: "")

    with pytest.raises(Exception, match=r"a[._]b"):
        Services(tools=[make("a.b"), make("a_b")])
    with pytest.raises(Exception, match="twin"):
        ToolRegistry([make("twin"), make("twin")])


async def test_a_tool_of_ones_own_replaces_the_built_in_one_of_that_name() -> None:
    @tool(name="calculator")
    def mine(expression: str) -> str:
        """Mine."""
        return "mine"

    assert await results_of([call("calculator", "1", expression="1+1")], [mine]) == ["mine"]


async def test_hostile_calls_never_crash_a_turn() -> None:
    deep: Any = "x"
    for _ in range(50):
        deep = [deep]
    calls = [
        ToolCall("1", "", {}),
        ToolCall("2", "same", {"deep": deep}),
        ToolCall("3", "no/such\nname" * 50, {}),
        ToolCall("4", "typed", {"count": 10**40}),
        ToolCall("5", "typed", {"count": float("nan")}),
        ToolCall("6", "typed", {"count": 1, "tags": ["\ud800"]}),
        ToolCall("7", "same", {"ctx": 1}),
        ToolCall("8", "same", {"": None}),
    ]
    got = await results_of(calls, [same, typed])
    assert len(got) == 8


async def test_a_tool_that_raises_what_is_no_exception_of_ours() -> None:
    @tool
    async def exits() -> str:
        """Exits."""
        raise TimeoutError("its own")

    @tool
    async def cancels() -> str:
        """Cancels something of its own."""
        task = asyncio.ensure_future(asyncio.sleep(3600))
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled mine"
        return ""

    @tool
    async def groups() -> str:
        """Raises a group."""
        raise ExceptionGroup("many", [ValueError("a"), KeyError("b")])

    got = await results_of([call("exits", "1"), call("cancels", "2"), call("groups", "3")], [exits, cancels, groups])
    assert "its own" in got[0]
    assert got[1] == "cancelled mine"
    assert "many" in got[2]


async def test_a_text_and_calls_in_one_reply() -> None:
    model = ScriptedModel([ModelResponse("I look.", [call("same", "1")]), "done"])
    services = Services(models=model, tools=[same])
    await twelve(services).run(services.turn("go", session_id="s"))
    assert model.requests[1].messages[-2].content == "I look."
    assert [m.content for m in await services.history("s")] == ["go", "I look.", "same", "done"]
