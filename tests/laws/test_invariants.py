"""What holds in every turn: one end for all that began, no task left behind, and the same again for the same input."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, ToolCall, Usage, tool
from sophon.approvals import ApprovalRequest
from sophon.errors import ModelError
from sophon.events import TaskCancelled, TaskCompleted, TaskFailed, ToolCallCompleted, ToolCallStarted
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve

PLAN = {
    "goal": "all is done",
    "steps": [
        {"id": "a", "description": "do a"},
        {"id": "b", "description": "do b"},
        {"id": "c", "description": "do c", "depends_on": ["a", "b"]},
    ],
}


@tool
async def nap(seconds: int, ctx: Any) -> str:
    """Sleep."""
    await ctx.services.clock.sleep(seconds)
    return f"slept {seconds}"


@tool
async def fail() -> str:
    """Fail."""
    raise RuntimeError("broken")


@tool(timeout_seconds=5)
async def hang() -> str:
    """Never end."""
    return await asyncio.get_running_loop().create_future()


@tool(risk=Risk.HIGH)
async def grave() -> str:
    """Ask first."""
    return "done"


class Gate:
    async def request(self, request: ApprovalRequest) -> Decision:
        return Decision.reject("no")


def calls(*names: str) -> ModelResponse:
    made = [ToolCall(f"{name}-{n}", name, {"seconds": 3 - n} if name == "nap" else {}) for n, name in enumerate(names)]
    return ModelResponse("let me see", made, Usage(10, 5))


async def with_tools(request: ModelRequest) -> str | ModelResponse:
    if request.messages[-1].role == "tool":
        return "done"
    return calls("nap", "fail", "nap", "grave", "missing", "nap")


async def with_a_plan(request: ModelRequest) -> str | ModelResponse:
    if request.purpose == "plan":
        return json.dumps(PLAN)
    if request.purpose == "step" and request.messages[-1].role == "user":
        return calls("nap", "nap")
    return "done"


async def out_of_order(request: ModelRequest) -> str | ModelResponse:
    if request.messages[-1].role == "tool":
        raise ModelError("out of order")
    return calls("nap", "fail")


async def in_circles(request: ModelRequest) -> str | ModelResponse:
    return ModelResponse(tool_calls=[ToolCall("", "fail", {})])


async def too_slow(request: ModelRequest) -> str | ModelResponse:
    return "done" if request.messages[-1].role == "tool" else calls("hang", "nap")


ANSWERS = [with_tools, with_a_plan, out_of_order, in_circles, too_slow]


async def turn(answer: Callable[..., Any], events: EventRecorder, clock: VirtualClock | None = None) -> None:
    services = Services(
        models=FunctionModel(answer, stream=4),
        tools=[nap, fail, hang, grave],
        approvals=Gate(),
        events=events,
        clock=clock or VirtualClock(),
        settings={"Planning": {"Mode": "Always" if answer is with_a_plan else "Never"}},
    )
    try:
        await twelve(services).run(services.turn("go", session_id="s", stream=True))
    except ModelError:
        assert answer is out_of_order
    assert await services.store.usage.reserved() == 0


def check_ends(events: EventRecorder) -> None:
    ends = [event for event in events.events if isinstance(event, TaskCompleted | TaskFailed | TaskCancelled)]
    assert len(ends) == 1
    assert events.events[-1] is ends[0]
    started = Counter((event.run_id, event.call_id) for event in events.of(ToolCallStarted))
    ended = Counter((event.run_id, event.call_id) for event in events.of(ToolCallCompleted))
    assert all(count == 1 for count in ended.values())
    assert started.keys() <= ended.keys()


@pytest.mark.parametrize("answer", ANSWERS)
async def test_everything_that_began_ends_exactly_once(answer: Callable[..., Any]) -> None:
    events = EventRecorder()
    await turn(answer, events)
    check_ends(events)


@pytest.mark.parametrize("answer", ANSWERS)
async def test_no_task_is_left_when_the_pipeline_returns(answer: Callable[..., Any]) -> None:
    before = asyncio.all_tasks()
    await turn(answer, EventRecorder())
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("answer", [with_tools, with_a_plan, too_slow])
@pytest.mark.parametrize("after", [1, 5, 20, 60, 150])
async def test_a_turn_that_is_cancelled_anywhere_ends_once_and_leaves_no_task(
    answer: Callable[..., Any], after: int
) -> None:
    before, events = asyncio.all_tasks(), EventRecorder()
    clock = VirtualClock(auto=False)
    task = asyncio.ensure_future(turn(answer, events, clock))
    for _ in range(after):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert asyncio.all_tasks() == before
    check_ends(events)


@pytest.mark.parametrize("answer", ANSWERS)
async def test_the_same_input_script_and_clock_give_the_same_event_log(answer: Callable[..., Any]) -> None:
    logs: list[list[Any]] = []
    for _ in range(2):
        events = EventRecorder()
        await turn(answer, events)
        logs.append([(event.wire_name, event.to_wire()) for event in events.events])

    assert len(logs[0]) > 8
    assert logs[0] == logs[1]
