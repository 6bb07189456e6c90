"""The JSON Schema of the events is that of what is sent: each payload of a turn fits it, with no key besides."""

import json
from dataclasses import fields
from typing import Any

import pytest
from pydantic import ConfigDict, TypeAdapter, ValidationError

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, ToolCall, Usage, events, tool
from sophon.approvals import ApprovalRequest
from sophon.events import Event
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_hosting.events.wire_event import to_wire_event
from sophon_hosting.reference.event_schemas import event_schemas, payload_type
from sophon_hosting.reference.protocol_tables import list_event_types
from sophon_middlewares.chains import twelve


def misfits(event: Event) -> list[Any]:
    """What of the payload is not as the schema says."""
    array: Any = list  # of one, because a TypedDict alone takes no configuration
    adapter = TypeAdapter[Any](array[payload_type(type(event))], config=ConfigDict(extra="forbid", strict=True))
    try:
        adapter.validate_python([json.loads(json.dumps(to_wire_event(event).data))])
    except ValidationError as error:
        return [(event.wire_name, each["loc"], each["msg"]) for each in error.errors()]
    return []


async def record_turn() -> EventRecorder:
    """The events of a turn with a plan, an approval of an edited call, a failed call and a streamed answer."""

    @tool(risk=Risk.HIGH)
    async def pay(to: str) -> str:
        """Pay somebody."""
        if to == "Bob":
            raise ValueError("no such person")
        return f"paid {to}"

    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "plan":
            steps = [{"id": "a", "description": "pay Ada"}, {"id": "b", "description": "pay Bob", "depends_on": ["a"]}]
            return json.dumps({"goal": "pay", "steps": steps})
        if request.purpose == "step" and request.messages[-1].role == "user":
            to = "Ada" if "Ada" in request.messages[-1].content else "Bob"
            return ModelResponse("So be it.", [ToolCall("1", "pay", {"to": to})], Usage(10, 2, reasoning_tokens=1))
        return "done"

    class Gate:
        async def request(self, request: ApprovalRequest) -> Decision:
            return Decision.edit({"to": request.arguments["to"]}) if request.kind == "tool" else Decision.approve()

    recorder = EventRecorder()
    services = Services(
        models=FunctionModel(answer, stream=True), tools=[pay], approvals=Gate(), events=recorder, clock=VirtualClock()
    )
    await twelve(services).run(services.turn("pay Ada and Bob", session_id="s", stream=True, planning="Always"))
    return recorder


async def test_the_events_of_a_turn_fit_their_schemas() -> None:
    recorder = await record_turn()
    for number, event in enumerate(recorder.events, start=1):
        event.seq = number if event.durable else None

    assert [each for event in recorder.events for each in misfits(event)] == []
    names = {each.wire_name for each in recorder.events}
    assert names >= {"plan_proposed", "approval_requested", "approval_resolved", "tool_call_completed", "stream_chunk"}


@pytest.mark.parametrize(
    "event",
    [
        events.TaskQueued(attachments=[{"id": "i", "name": "n", "media_type": "text/plain", "size": 1, "tokens": 0}]),
        events.TaskFailed(error={"code": "model", "message": "down", "id": "x"}, text="long" * 20_000),
        events.ModelFallback(purpose="reply", states=("failed", "succeeded"), max_transitions=2),
        events.Message(message_id="m", role="user", content="go", origin="schedule"),
    ],
    ids=lambda each: each.wire_name,
)
def test_what_a_turn_seldom_sends_fits_too(event: Event) -> None:
    event.seq = 1 if event.durable else None
    assert misfits(event) == []


@pytest.mark.parametrize(
    "event",
    [
        events.TaskFailed(error={"code": "model", "message": "down", "cause": "?"}),
        events.TaskStarted(started_at=7),  # type: ignore[arg-type] # on purpose
        events.TaskQueued(attachments=[{"id": "i"}]),
        events.SessionDeleted(seq=1),
    ],
    ids=lambda each: each.wire_name,
)
def test_what_is_not_as_declared_is_found(event: Event) -> None:
    event.seq = event.seq or (1 if event.durable else None)
    assert misfits(event)


def test_every_event_has_a_schema_with_its_fields_and_its_sentence() -> None:
    payloads, shared = event_schemas("#/components/schemas/{model}")
    own = {each.wire_name: each for each in list_event_types()}

    assert payloads.keys() == own.keys()
    for name, schema in payloads.items():
        expected = {each.name for each in fields(own[name])} | {"large"}
        assert schema["properties"].keys() == (expected if own[name].durable else expected - {"seq"})
        assert schema["description"]
    assert shared.keys() >= {"ErrorDetail", "PlanDetail", "UsageView", "LargeFieldReference"}
    assert payloads["task_failed"]["properties"]["error"] == {"$ref": "#/components/schemas/ErrorDetail"}
