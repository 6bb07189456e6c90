"""The law of re-entry: next may be called many times, and a turn that is run again around a failure is one turn.

A middleware that fails twice stands at each place of the twelve, and one that calls next again at each place in front
of it. What the models are asked, what the tools do, what people are asked and what is recorded is the same as without.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import pytest

from sophon import (
    Context,
    Decision,
    Middleware,
    ModelRequest,
    ModelResponse,
    Next,
    Pipeline,
    Response,
    Risk,
    Services,
    Tool,
    ToolCall,
    tool,
)
from sophon.approvals import ApprovalRequest
from sophon.errors import ChainError, CompositionError, SophonError
from sophon.events import (
    ApprovalRequested,
    PlanProposed,
    StreamChunk,
    StreamReset,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TaskStarted,
    ToolCallStarted,
)
from sophon.events import Message as MessageAdded
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve
from tests.tables import table

PLACES = range(1, 12)
"""Of thirteen places, compose refuses the one in front of SessionEvents and the one behind LlmInvoker."""
OUTERMOST, INNERMOST = PLACES[0], PLACES[-1]
FAILED_LAYER = [(place, place + 1) for place in PLACES[:-1]]
"""Each middleware is run again alone; for a failure after the chain, with all that is in front of the model."""
WHOLE_TURN = [(OUTERMOST, failing) for failing in PLACES]
OTHER_PAIRS = sorted(
    {(retry, failing) for retry in PLACES for failing in PLACES if retry <= failing} - {*FAILED_LAYER, *WHOLE_TURN}
)
"""They run the same middlewares again, others together: each is tried in four of the scenarios."""
FAILURES = 2
PLAN = {
    "goal": "all is done",
    "steps": [
        {"id": "a", "description": "do a"},
        {"id": "b", "description": "do b"},
        {"id": "c", "description": "do c", "depends_on": ["a", "b"]},
    ],
}


class Flaky(Exception):
    pass


class FailingTwice:
    """Raises the first two times that it is reached, before or after the rest of the chain."""

    def __init__(self, when: Literal["before", "after"]) -> None:
        self._when = when
        self._failures = 0

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if self._when == "before":
            self._fail()
        await next(ctx)
        if self._when == "after":
            self._fail()

    def _fail(self) -> None:
        if self._failures < FAILURES:
            self._failures += 1
            raise Flaky


async def again(ctx: Context, next: Next) -> None:
    for _ in range(FAILURES):
        try:
            await next(ctx)
        except Flaky:
            continue
        return
    await next(ctx)


async def again_around_the_turn(ctx: Context, next: Next) -> None:
    await (next(ctx) if ctx.depth else again(ctx, next))


@dataclass
class Observed:
    """What one turn did."""

    text: str = ""
    finish_reason: str = ""
    requests: list[Any] = field(default_factory=list[Any])
    effects: Counter[str] = field(default_factory=Counter[str])
    asked: Counter[str] = field(default_factory=Counter[str])
    records: list[Any] = field(default_factory=list[Any])
    events: EventRecorder = field(default_factory=EventRecorder)
    ctx: Context | None = None


@dataclass(frozen=True)
class Scenario:
    answer: Callable[[ModelRequest], str | ModelResponse]
    function_calling: bool = True
    planning: str = "Never"
    tools: int = 0


def answered(request: ModelRequest) -> int:
    """Return the number of rounds of tool calls since the last message of the user."""
    rounds = 0
    for message in reversed(request.messages):
        if message.role == "user" and "tool_result" not in message.content:
            break
        rounds += message.role == "assistant"
    return rounds


def calls(*made: tuple[str, str]) -> ModelResponse:
    return ModelResponse("let me see", [ToolCall(each, name, {"word": each}) for each, name in made])


def in_two_rounds(request: ModelRequest) -> str | ModelResponse:
    rounds = [calls(("one", "note"), ("two", "note"), ("three", "broken")), calls(("four", "note"))]
    done = answered(request)
    return rounds[done] if done < len(rounds) else "all is noted"


def in_text(request: ModelRequest) -> str | ModelResponse:
    found = in_two_rounds(request)
    if isinstance(found, str):
        return found
    blocks = [json.dumps({"name": call.name, "arguments": call.arguments}) for call in found.tool_calls]
    return "let me see\n" + "\n".join(f"<tool_call>{block}</tool_call>" for block in blocks)


def with_approvals(request: ModelRequest) -> str | ModelResponse:
    rounds = [calls(("one", "grave"), ("never", "grave"), ("two", "note")), calls(("four", "grave"))]
    done = answered(request)
    return rounds[done] if done < len(rounds) else "all is decided"


def with_a_plan(request: ModelRequest) -> str | ModelResponse:
    if request.purpose == "plan":
        return json.dumps(PLAN)
    if request.purpose == "step" and not answered(request):
        step = request.messages[-1].content.partition("do ")[2][:1]
        return calls((f"{step}1", "note"), (f"{step}2", "note"))
    return "the step is done" if request.purpose == "step" else "the plan is done"


def after_loading(request: ModelRequest) -> str | ModelResponse:
    done = answered(request)
    if done == 0:
        return ModelResponse(tool_calls=[ToolCall("load", "load_tools", {"group": "spare"})])
    return calls(("late", "spare_tool")) if done == 1 else "loaded and used"


def in_circles(request: ModelRequest) -> str | ModelResponse:
    return ModelResponse(tool_calls=[ToolCall("", "note", {"word": "same"})]) if request.tools else "enough"


def without_end(request: ModelRequest) -> str | ModelResponse:
    return calls((f"word {answered(request)}", "note")) if request.tools else "that is enough"


SCENARIOS = {
    "plain": Scenario(lambda request: "done"),
    "tools": Scenario(in_two_rounds),
    "bridge": Scenario(in_text, function_calling=False),
    "approvals": Scenario(with_approvals),
    "plan": Scenario(with_a_plan, planning="Always"),
    "filter": Scenario(after_loading, tools=14),
    "loop": Scenario(in_circles),
    "limit": Scenario(without_end),
}


class Effects:
    """What the tools of all turns did in the one that runs; a tool, whose schema is dear, is made once."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()


OBSERVED = Effects()


@cache
def make_tools(spare: int) -> list[Tool]:
    @tool
    async def note(word: str) -> str:
        """Note a word."""
        OBSERVED.effects[word] += 1
        return f"noted {word}"

    @tool
    async def broken(word: str) -> str:
        """Fail."""
        OBSERVED.effects[word] += 1
        raise RuntimeError("broken")

    @tool(risk=Risk.HIGH)
    async def grave(word: str) -> str:
        """Do something grave."""
        OBSERVED.effects[word] += 1
        return f"did {word}"

    @tool(group="spare")
    async def spare_tool(word: str) -> str:
        """Wait to be loaded."""
        OBSERVED.effects[word] += 1
        return f"spared {word}"

    async def other(word: str) -> str:
        """Do something else."""
        return word

    others = [tool(name=f"other_{number}")(other) for number in range(spare)]
    return [note, broken, grave, *others, spare_tool]


async def observe(scenario: Scenario, inserted: Sequence[tuple[int, Middleware]] = ()) -> Observed:
    observed = Observed()
    OBSERVED.effects = observed.effects

    async def answer(request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        messages = [(m.role, m.content, [(c.name, dict(c.arguments)) for c in m.tool_calls]) for m in request.messages]
        observed.requests.append(json.dumps([request.purpose, messages, [each.name for each in request.tools]]))
        return scenario.answer(request)

    class Gate:
        async def request(self, request: ApprovalRequest) -> Decision:
            observed.asked[request.id] += 1
            return Decision.reject("no") if request.arguments["word"] == "never" else Decision.approve()

    services = Services(
        models=FunctionModel(answer, function_calling=scenario.function_calling, stream=4),
        tools=make_tools(scenario.tools),
        approvals=Gate(),
        events=observed.events,
        clock=VirtualClock(),
        instructions="Be kind.",
        settings={"AgentExecution": {"MaxToolIterations": 12}},
    )
    await twelve(services).run(services.turn("an earlier message", session_id="s", planning="Never"))
    observed.requests.clear()
    observed.effects.clear()
    observed.asked.clear()
    observed.events.events.clear()
    before = len(await services.store.sessions.list_records("s"))
    chain = list(twelve(services))
    for place, middleware in reversed(inserted):  # innermost first
        chain.insert(place, middleware)
    ctx = services.turn("go", session_id="s", stream=True, planning=scenario.planning)
    response = await Pipeline.compose(*chain).run(ctx)
    observed.text, observed.finish_reason, observed.ctx = response.text, response.finish_reason, ctx
    observed.records = [
        (record.kind, record.message.role, record.message.content) if record.message else record.kind
        for record in (await services.store.sessions.list_records("s"))[before:]
    ]
    assert await services.store.usage.reserved() == 0
    return observed


def messages_by_id(events: EventRecorder) -> dict[str, str]:
    """The contents of the conversation: a later message with the same id replaces the earlier one."""
    return {event.message_id: event.content for event in events.of(MessageAdded)}


def check(seen: Observed, expected: Observed) -> None:
    assert (seen.text, seen.finish_reason) == (expected.text, expected.finish_reason)
    assert set(seen.requests) == set(expected.requests)
    assert seen.effects == expected.effects
    assert seen.asked == expected.asked
    assert seen.records == expected.records
    ctx, events = seen.ctx, seen.events
    assert ctx is not None
    assert (ctx.call_layers, ctx.request_overheads, ctx.meter) == ([], [], None)
    ends = [event for event in events.events if isinstance(event, TaskCompleted | TaskFailed | TaskCancelled)]
    assert [type(end) for end in ends] == [TaskCompleted]
    assert events.events[-1] is ends[0]
    for kind in (TaskStarted, PlanProposed, ApprovalRequested, ToolCallStarted):
        assert len(events.of(kind)) == len(expected.events.of(kind)), kind.__name__
    assert messages_by_id(events) == messages_by_id(expected.events)
    streamed = ""
    for event in events.events:
        if isinstance(event, StreamReset):
            streamed = ""
        elif isinstance(event, StreamChunk):
            streamed += event.text
    assert streamed.endswith(seen.text)


def pairs_of(name: str, when: str) -> list[tuple[int, int]]:
    """Return where next is called again and where it fails, the outer place first."""
    number = list(SCENARIOS).index(name) + (when == "after")
    return [*FAILED_LAYER, *WHOLE_TURN, *OTHER_PAIRS[number % 4 :: 4]]


def test_every_pair_of_places_is_tried() -> None:
    tried = Counter(pair for name in SCENARIOS for when in ("before", "after") for pair in set(pairs_of(name, when)))
    assert len(tried) == len(PLACES) * (len(PLACES) + 1) // 2
    assert min(tried.values()) == 4
    for when in ("before", "after"):
        assert {pair for name in SCENARIOS for pair in pairs_of(name, when)} == set(tried)


@table("when", ["before", "after"])
@table("name", SCENARIOS)
async def test_a_turn_in_which_a_middleware_fails_twice_is_the_same_turn(
    name: str, when: Literal["before", "after"]
) -> None:
    scenario = SCENARIOS[name]
    expected = await observe(scenario)
    wrong: list[str] = []
    for retry, failing in pairs_of(name, when):
        try:
            check(await observe(scenario, [(retry, again), (failing, FailingTwice(when))]), expected)
        except Exception as error:  # all places are reported at once
            wrong.append(f"next again at {retry}, failing at {failing}: {type(error).__name__}: {error!s:.1000}")
    assert not wrong, "\n\n".join(wrong)


@table("when", ["before", "after"])
@table("failing", PLACES)
async def test_a_plan_that_is_run_again_continues_its_steps(failing: int, when: Literal["before", "after"]) -> None:
    """The failure in a step leaves Planning; what calls next again stands around the whole plan."""
    scenario = SCENARIOS["plan"]
    seen = await observe(scenario, [(1, again_around_the_turn), (failing, FailingTwice(when))])
    check(seen, await observe(scenario))


@table("place", [0, 12])
def test_the_two_other_places_are_refused(place: int) -> None:
    chain = list(twelve(Services()))
    with pytest.raises(CompositionError, match="SessionEvents" if place == 0 else "LlmInvoker"):
        Pipeline.compose(*chain[:place], again, *chain[place:])


async def test_a_turn_whose_end_is_recorded_is_not_run_again() -> None:
    async def fail(request: ModelRequest) -> str:
        raise Flaky

    events = EventRecorder()
    services = Services(models=FunctionModel(fail), events=events, clock=VirtualClock())
    ctx = services.turn("go", session_id="s")
    with pytest.raises(SophonError, match="Flaky"):
        await twelve(services).run(ctx)
    with pytest.raises(ChainError, match="has ended"):
        await twelve(services).run(ctx)
    assert len(events.of(TaskStarted)) == len(events.of(TaskFailed)) == 1
    assert [m.content for m in await services.history("s")] == ["go"]


async def test_a_suspended_turn_that_is_run_again_as_it_is_continues() -> None:
    decisions = [Decision.suspend(), Decision.approve()]
    OBSERVED.effects = Counter()

    class Gate:
        async def request(self, request: ApprovalRequest) -> Decision:
            return decisions.pop(0)

    model = ScriptedModel([[ToolCall("one", "grave", {"word": "one"})], "done"])
    services = Services(models=model, tools=make_tools(0), approvals=Gate(), clock=VirtualClock())
    ctx = services.turn("go", session_id="s")
    assert (await twelve(services).run(ctx)).finish_reason == "suspended"
    assert (await twelve(services).run(ctx)).text == "done"
    assert OBSERVED.effects == {"one": 1}
    assert [m.role for m in await services.history("s")] == ["user", "assistant", "tool", "assistant"]


async def test_a_layer_is_gone_when_its_middleware_returns() -> None:
    seen: list[int] = []

    async def layered(ctx: Context, next: Next) -> None:
        with ctx.call_layer(lambda request, call: call(request), overhead=lambda request: "more"):
            await next(ctx)

    async def count(ctx: Context, next: Next) -> None:
        seen.append(len(ctx.call_layers) + len(ctx.request_overheads))
        ctx.response = Response("done")

    async def thrice(ctx: Context, next: Next) -> None:
        for _ in range(3):
            await next(ctx)

    await Pipeline.compose(thrice, layered, count).run(Services().turn("go"))
    assert seen == [2, 2, 2]


async def test_a_time_out_that_is_tried_again_runs_no_finished_call_again() -> None:
    ran: Counter[str] = Counter()

    @tool
    async def quick() -> str:
        """Return at once."""
        ran["quick"] += 1
        return "quick result"

    @tool
    async def slow(ctx: Any) -> str:
        """Take long."""
        ran["slow"] += 1
        await ctx.services.clock.sleep(100)
        return "slow result"

    async def impatient(ctx: Context, next: Next) -> None:
        for _ in range(2):
            try:
                async with ctx.services.clock.timeout(10):
                    await next(ctx)
            except TimeoutError:
                continue
            return

    model = ScriptedModel([[ToolCall("q", "quick"), ToolCall("s", "slow")], "done"])
    services = Services(models=model, tools=[quick, slow], clock=VirtualClock())
    chain = twelve(services)
    response = await Pipeline.compose(*chain[:1], impatient, *chain[1:]).run(services.turn("go"))
    assert response.text == "done"
    assert ran == {"quick": 1, "slow": 1}
    results = [m.content for m in model.requests[-1].messages if m.role == "tool"]
    assert results[0] == "quick result"
    assert "cancelled while it ran" in results[1]
