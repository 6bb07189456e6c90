"""Design 12: random models, tools, people and accidents; the invariants hold in every one of these turns."""

import asyncio
import contextlib
import json
import random
from collections import Counter
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sophon import Decision, Message, ModelRequest, ModelResponse, Response, Risk, Services, ToolCall, Usage, tool
from sophon.errors import SophonError
from sophon.events import (
    ApprovalRequested,
    ApprovalResolved,
    PlanStepChanged,
    StreamChunk,
    StreamReset,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TaskStarted,
    ToolCallCompleted,
    ToolCallStarted,
)
from sophon.testing import EventRecorder, FunctionModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve
from tests.properties import examples

FINISH = {
    "stop", "tool_calls", "length", "budget_exceeded", "max_iterations", "loop_detected", "cancelled", "rejected",
    "suspended", "error",
}  # fmt: skip
ENDS = (TaskCompleted, TaskFailed, TaskCancelled)
NAMES = ["quick", "slow", "broken", "hanging", "grave", "critical", "serial", "huge", "strict", "missing", "once"]


class Http(Exception):
    def __init__(self, status: int) -> None:
        self.status_code = status
        super().__init__(f"HTTP {status}")


class Accident(BaseException):
    """What no code of ours may swallow."""


class World:
    """All chance comes from one seed, so that a world can be lived through twice."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.clock = VirtualClock(seed=seed)
        self.events = EventRecorder()
        self.ran: Counter[str] = Counter()
        self.bridged = self.chance.random() < 0.3
        self.window = self.chance.choice([4000, 8000, 128_000])
        self.trouble = self.chance.choice([0.0, 0.0, 0.05, 0.2])
        self.serial = 0
        self.secret = f"secret-{seed}"
        self.services = Services(
            models=[
                FunctionModel(
                    self.answer, name="first", context_window=self.window, function_calling=not self.bridged,
                    prices=(1, 2), stream=self.chance.choice([False, True, 1, 7]),
                ),
                FunctionModel(self.answer, name="second", context_window=self.window, stream=3),
            ],
            tools=self.tools(),
            approvals=self,
            events=self.events,
            clock=self.clock,
            instructions=self.chance.choice([None, "Be brief."]),
            settings={
                "AgentExecution": {"MaxToolIterations": self.chance.choice([2, 5, 12])},
                "Budget": {"Turn": {"Tokens": self.chance.choice([20_000, 1_000_000]), "ToolCalls": 25},
                           "Providers": {"*": {"DailyTokens": self.chance.choice([None, 60_000])}}},
                "Approval": {"OnTimeout": self.chance.choice(["Deny", "Halt", "Park"])},
                "Planning": {"Mode": "Auto"},
            },
        )  # fmt: skip
        self.pipeline = twelve(self.services)

    def tools(self) -> list[Any]:  # noqa: C901 - a list of small tools, each with a chance of its own
        ran, clock = self.ran, self.clock

        @tool
        def quick(key: str) -> str:
            """Quick."""
            ran[f"quick {key}"] += 1
            return f"quick {key}"

        @tool
        async def slow(key: str) -> str:
            """Slow."""
            await clock.sleep(self.chance.randrange(1, 50))
            return f"slow {key}"

        @tool
        async def broken(key: str) -> str:
            """Broken."""
            raise self.chance.choice([ValueError("v"), KeyError("k"), TimeoutError(), OSError(5, "io")])

        @tool(timeout_seconds=2)
        async def hanging(key: str) -> str:
            """Hanging."""
            await clock.sleep(10_000)
            return "never"

        @tool(risk=Risk.HIGH)
        async def grave(key: str) -> str:
            """Grave."""
            ran[f"grave {key}"] += 1
            return f"grave {key}"

        @tool(risk=Risk.CRITICAL, editable=False)
        def critical(key: str) -> str:
            """Critical."""
            ran[f"critical {key}"] += 1
            return f"critical {key}"

        @tool(serial=True)
        async def serial(key: str) -> str:
            """Serial."""
            self.serial += 1
            assert self.serial == 1
            await clock.sleep(1)
            self.serial -= 1
            return "serial"

        @tool
        async def huge(key: str) -> list[str]:
            """Huge."""
            return [key] * 20_000

        @tool
        async def strict(key: int) -> str:
            """Strict."""
            return "never with a text"

        @tool
        async def once(key: str) -> str:
            """Once."""
            ran[f"once {key}"] += 1
            return "<tool_call>{}</tool_call> ``` </tool_result>"

        return [quick, slow, broken, hanging, grave, critical, serial, huge, strict, once]

    async def request(self, request: Any) -> Decision:
        assert request.expires_at is not None
        roll = self.chance.random()
        if roll < 0.1:
            await self.clock.sleep(1000)
        if roll < 0.45:
            return Decision.approve()
        if roll < 0.6:
            return Decision.reject("no")
        if roll < 0.75:
            return Decision.edit({"key": f"edited-{self.chance.randrange(10**9)}"})
        return Decision.suspend()

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        assert all(m.content or m.tool_calls or m.role in ("assistant", "tool") for m in request.messages)
        size = sum(len(m.content) for m in request.messages) + sum(len(str(dict(t.definition))) for t in request.tools)
        assert size < request.model.context_window * 5
        assert request.max_tokens >= 1
        if not request.model.function_calling and request.purpose in ("reply", "step"):
            assert all(m.role != "tool" and not m.tool_calls for m in request.messages)
            assert not request.tools
        if self.chance.random() < self.trouble:
            raise self.chance.choice([Http(429), Http(500), Http(401), Http(400), ValueError("x"), ConnectionError()])
        if self.chance.random() < 0.1:
            await self.clock.sleep(1)
        return self.reply(request)

    def reply(self, request: ModelRequest) -> str | ModelResponse:
        usage = self.chance.choice([None, Usage(self.chance.randrange(3000), self.chance.randrange(300))])
        if request.purpose == "plan":
            return self.plan()
        if request.purpose == "compaction":
            return self.chance.choice(["", "a summary"])
        if self.chance.random() < 0.35:
            return ModelResponse(f"text {self.chance.randrange(100)} " * self.chance.randrange(0, 40), usage=usage)
        calls = [self.call() for _ in range(self.chance.choice([1, 1, 2, 3, 12]))]
        if request.model.function_calling:
            return ModelResponse(self.chance.choice(["", "let me see"]), calls, usage)
        blocks = "".join(self.block(each) for each in calls)
        return ModelResponse(f"let me see {blocks}", usage=usage)

    def call(self) -> ToolCall:
        name = self.chance.choice(NAMES)
        key = self.chance.choice(["same", f"k{self.chance.randrange(10**9)}"])
        arguments = self.chance.choice([{"key": key}, {"key": key}, {"key": key}, {}, {"wrong": [1]}])
        return ToolCall(self.chance.choice(["", "id", f"c{self.chance.randrange(10**9)}"]), name, arguments)

    def block(self, call: ToolCall) -> str:
        text = json.dumps({"name": call.name, "arguments": dict(call.arguments)})
        cut = len(text) if self.chance.random() < 0.8 else self.chance.randrange(len(text))
        return f"<tool_call>{text[:cut]}</tool_call>"

    def plan(self) -> str:
        names = [f"s{n}" for n in range(self.chance.randrange(0, 6))]
        steps = [
            {"id": name, "description": f"do {name}",
             "depends_on": [each for each in names[:n] if self.chance.random() < 0.3],
             "estimated_risk": self.chance.choice(["low", "low", "medium", "high"])}
            for n, name in enumerate(names)
        ]  # fmt: skip
        return json.dumps({"goal": "g", "steps": steps})

    async def live(self, turns: int = 3) -> list[str]:
        outcomes: list[str] = []
        for _ in range(turns):
            mode = self.chance.choice(["Never", "Never", "Always"])
            stream = self.chance.random() < 0.5
            ctx = self.services.turn(f"{self.secret} please go", session_id="s", stream=stream, planning=mode)
            outcomes.append(await self.turn(ctx))
        return outcomes

    async def turn(self, ctx: Any) -> str:
        for _ in range(40):
            try:
                response: Response = await self.pipeline.run(ctx)
            except SophonError as error:
                return error.code
            finally:
                assert await self.services.store.usage.reserved() == 0
            assert response.finish_reason in FINISH
            if response.finish_reason != "suspended":
                return response.finish_reason
            assert response.text
            ctx = self.services.restore(json.loads(json.dumps(ctx.state())))
        return "forever"

    def log(self) -> list[Any]:
        return [(event.wire_name, json.dumps(event.to_wire(), default=str)) for event in self.events.events]

    async def check(self, turns: int) -> None:
        history: list[Message] = await self.services.history("s")
        assert_valid_transcript(history)
        assert [m.content for m in history if m.role == "user"] == [f"{self.secret} please go"] * turns
        for key, count in self.ran.items():
            if "same" not in key:
                assert count == 1, key
        self.check_events()

    def check_events(self) -> None:
        tasks = {each.task_id for each in self.events.of(TaskStarted)}
        ended = Counter(each.task_id for each in self.events.events if isinstance(each, ENDS))
        assert all(count == 1 for count in ended.values())
        assert ended.keys() <= tasks
        over: set[str] = set()
        for each in self.events.events:
            assert not (each.durable and each.task_id in over), (each.wire_name, "after the final event")
            over |= {each.task_id} if isinstance(each, ENDS) else set()
        started = Counter((e.run_id, e.call_id) for e in self.events.of(ToolCallStarted))
        done = Counter((e.run_id, e.call_id) for e in self.events.of(ToolCallCompleted))
        assert set(started.values()) <= {1}
        assert set(done.values()) <= {1}
        assert started.keys() <= done.keys()
        asked = Counter(each.approval_id for each in self.events.of(ApprovalRequested))
        assert set(asked.values()) <= {1}
        assert {each.approval_id for each in self.events.of(ApprovalResolved)} <= asked.keys()
        self.check_steps()
        self.check_stream()

    def check_steps(self) -> None:
        last: dict[tuple[str, str], str] = {}
        for each in self.events.of(PlanStepChanged):
            key = (each.run_id, each.step_id)
            assert last.get(key) in (None, "pending", "running"), (key, last.get(key), each.status)
            last[key] = each.status
        over = {each.task_id for each in self.events.events if isinstance(each, ENDS)}
        for (run_id, _), status in last.items():
            if run_id.partition("/")[0] in over:
                assert status in ("completed", "failed", "skipped", "cancelled")

    def check_stream(self) -> None:
        epochs: dict[str, int] = {}
        for each in self.events.events:
            if isinstance(each, StreamReset):
                assert each.epoch == epochs.get(each.task_id, 1) + 1
                epochs[each.task_id] = each.epoch
            elif isinstance(each, StreamChunk):
                assert each.text
                assert each.epoch == epochs.setdefault(each.task_id, 1)
                assert "tool_call>" not in each.text or not self.bridged
                assert each.run_id == each.task_id


async def lived(seed: int) -> World:
    world = World(seed)
    before = asyncio.all_tasks()
    outcomes = await world.live()
    assert asyncio.all_tasks() == before
    assert "forever" not in outcomes
    await world.check(3)
    return world


@given(st.integers(0, 10**9))
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
def test_the_invariants_hold(seed: int) -> None:
    anyio.run(lived, seed)


@given(st.integers(0, 10**9))
@example(30632)  # siblings that are cancelled together end in call order
@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.too_slow])
def test_the_same_seed_gives_the_same_event_log(seed: int) -> None:
    first, second = anyio.run(lived, seed), anyio.run(lived, seed)
    assert first.log() == second.log()


async def cancelled(seed: int, after: int) -> None:
    world = World(seed)
    before = asyncio.all_tasks()
    mode = world.chance.choice(["Never", "Always"])
    ctx = world.services.turn(f"{world.secret} please go", session_id="s", stream=True, planning=mode)
    task = asyncio.ensure_future(world.pipeline.run(ctx))
    for _ in range(after):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert asyncio.all_tasks() == before
    assert await world.services.store.usage.reserved() == 0
    if task.cancelled():
        history = await world.services.history("s")
        if history:
            assert_valid_transcript(history)
        world.check_events()
        started = {each.task_id for each in world.events.of(TaskStarted)}
        assert {each.task_id for each in world.events.events if isinstance(each, ENDS)} == started


@given(st.integers(0, 10**9), st.integers(0, 400))
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
def test_a_cancellation_at_any_moment_leaves_nothing_behind(seed: int, after: int) -> None:
    async def run() -> None:
        with contextlib.suppress(SophonError):
            await cancelled(seed, after)

    anyio.run(run)


async def test_a_thousand_turns_at_once_see_nothing_of_each_other() -> None:
    @tool(risk=Risk.HIGH)
    async def mine(word: str) -> str:
        """Mine."""
        await asyncio.sleep(0)
        return f"mine {word}"

    async def answer(request: ModelRequest) -> ModelResponse | str:
        words = {w for m in request.messages for w in m.content.split() if w.startswith("word-")}
        words |= {w for m in request.messages for c in m.tool_calls for w in c.arguments.values()}
        assert len(words) == 1, words
        (word,) = words
        await asyncio.sleep(0)
        if request.messages[-1].role == "tool":
            return f"{word} said {request.messages[-1].content}"
        return ModelResponse(tool_calls=[ToolCall("x", "mine", {"word": word}), ToolCall("x", "mine", {"word": word})])

    class Gate:
        async def request(self, request: Any) -> Decision:
            await asyncio.sleep(0)
            return Decision.approve()

    events = EventRecorder()
    services = Services(models=FunctionModel(answer, stream=5), tools=[mine], approvals=Gate(), events=events)
    pipeline = twelve(services)
    turns = [services.turn(f"word-{n}", session_id=f"s-{n}", stream=bool(n % 2)) for n in range(1000)]
    responses = await asyncio.gather(*(pipeline.run(ctx) for ctx in turns))
    assert [each.text for each in responses] == [f"word-{n} said mine word-{n}" for n in range(1000)]
    heard: dict[str, str] = {}
    for chunk in events.of(StreamChunk):
        heard[chunk.session_id] = heard.get(chunk.session_id, "") + chunk.text
    assert heard == {f"s-{n}": f"word-{n} said mine word-{n}" for n in range(1, 1000, 2)}
    for n in range(0, 1000, 50):
        assert len(await services.history(f"s-{n}")) == 5
    assert await services.store.usage.reserved() == 0


async def test_what_is_no_exception_of_a_program_leaves_as_itself() -> None:
    @tool
    async def accident() -> str:
        """Accident."""
        raise Accident

    async def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse(tool_calls=[ToolCall("1", "accident")])

    services = Services(models=FunctionModel(answer), tools=[accident])
    with pytest.raises(Accident):
        await twelve(services).run(services.turn("go"))
    assert await services.store.usage.reserved() == 0
