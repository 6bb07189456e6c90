"""Events have the names and fields of the wire, are ready for JSON, and never disturb the turn."""

import dataclasses
import inspect
import logging
from typing import Any, get_type_hints

import orjson
import pytest

from sophon import Services, Usage, events
from sophon.context import Step
from sophon.events import Event
from tests.tables import table

CLASSES = [
    each for _, each in inspect.getmembers(events, inspect.isclass) if issubclass(each, Event) and each is not Event
]

WIRE = {
    "task_queued": "position",
    "task_started": "started_at",
    "agent_status": "status detail",
    "stream_chunk": "epoch text",
    "stream_reset": "epoch reason",
    "tool_call_started": "call_id tool arguments_digest",
    "tool_call_completed": "call_id tool outcome duration_ms",
    "plan_proposed": "plan",
    "plan_step_changed": "step_id status reason",
    "progress": "iteration tool_calls usage",
    "approval_requested": "approval_id tool risk arguments preview expires_at",
    "approval_resolved": "approval_id decision decided_by",
    "message": "message_id role content",
    "budget_alert": "provider limit used share",
    "task_completed": "text finish_reason usage duration_ms",
    "task_failed": "text finish_reason usage duration_ms error",
    "task_cancelled": "text finish_reason usage duration_ms",
}
"""The table of contract.md."""

SAMPLES: dict[Any, Any] = {str: "x", int: 1, float: 0.5, bool: True, Usage: Usage(1, 2)}


def example(kind: type[Event]) -> Event:
    hints = get_type_hints(kind)
    required = [
        each
        for each in dataclasses.fields(kind)
        if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
    ]
    return kind(
        **{
            each.name: SAMPLES.get(hints[each.name], {"a": 1} if "Mapping" in str(hints[each.name]) else "x")
            for each in required
        }
    )


@table("name", WIRE)
def test_every_event_of_the_contract_has_its_class_and_its_fields(name: str) -> None:
    [kind] = [each for each in CLASSES if each.wire_name == name]
    assert set(WIRE[name].split()) <= {each.name for each in dataclasses.fields(kind)}


@table("kind", CLASSES)
def test_every_event_is_ready_for_the_wire(kind: type[Event]) -> None:
    event = example(kind)
    Services().turn("go", session_id="s").emit(event)
    payload = orjson.loads(orjson.dumps(event.to_wire()))

    assert payload["session_id"] == "s"
    assert payload["task_id"]
    assert "seq" not in payload
    event.seq = 7
    assert event.to_wire()["seq"] == 7
    assert set(event.to_wire()) == {each.name for each in dataclasses.fields(kind)} - {*kind.omitted_if_empty}


def test_names_on_the_wire_are_those_of_the_classes_and_differ() -> None:
    assert len({kind.wire_name for kind in CLASSES}) == len(CLASSES)
    assert events.ToolCallCompleted.wire_name == "tool_call_completed"


def test_an_event_of_ones_own_is_named_as_its_class() -> None:
    @dataclasses.dataclass(slots=True, kw_only=True)
    class TideTurned(Event):
        metres: int

    assert TideTurned.wire_name == "tide_turned"
    assert TideTurned(metres=3).to_wire()["metres"] == 3


def test_an_event_tells_the_turn_and_the_step() -> None:
    ctx = Services().turn("go")
    event = events.TaskCancelled()
    ctx.child("x", Step("a")).emit(event)

    assert (event.task_id, event.run_id) == (ctx.run_id, f"{ctx.run_id}/a")


@pytest.mark.parametrize("event", [events.TaskCancelled(), "no event at all"])
def test_a_broken_listener_is_logged_and_the_turn_goes_on(event: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def emit(self, event: Event) -> None:
            raise RuntimeError("the listener")

    with caplog.at_level(logging.ERROR):
        Services(events=Broken()).turn("go").emit(event)

    assert "an event listener failed" in caplog.text
