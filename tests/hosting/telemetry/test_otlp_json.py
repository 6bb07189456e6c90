"""A trace as JSON of OTLP: what the protocol buffers of OpenTelemetry read of it, and what it keeps to itself."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sophon.traces.trace import AttemptTrace, NoteTrace, StepTrace, ToolTrace, Trace
from sophon_hosting.telemetry.otlp_json import trace_to_otlp_json

TRACE = Trace(
    run_id="r",
    session_id="s",
    principal="ada",
    channel="hub",
    started_at=datetime(2026, 11, 23, 12, tzinfo=UTC),
    ended_at=datetime(2026, 11, 23, 12, 0, 1, 500_000, tzinfo=UTC),
    status="completed",
    trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
    span_id="00f067aa0ba902b7",
    parent_span_id="b7ad6b7169203331",
    attempts=(AttemptTrace("main/gpt", "reply", "ok", 0, 1200),),
    steps=(StepTrace("one", "done", 0, 900),),
    tools=(ToolTrace("c1", "files.read", "failed", 10, 30, step="one"),),
    notes=(NoteTrace("loop_warning", 5, {"tool": "files.read"}),),
)


def spans(trace: Trace = TRACE) -> list[dict[str, Any]]:
    return trace_to_otlp_json(trace, providers={"main": "openai"})["resourceSpans"][0]["scopeSpans"][0]["spans"]


def test_it_has_the_ids_times_and_types_that_the_protocol_demands() -> None:
    turn, step, attempt, call = spans()
    assert (turn["traceId"], turn["spanId"], turn["parentSpanId"]) == (
        TRACE.trace_id,
        TRACE.span_id,
        TRACE.parent_span_id,
    )
    assert int(turn["endTimeUnixNano"]) - int(turn["startTimeUnixNano"]) == 1_500_000_000
    assert step["parentSpanId"] == attempt["parentSpanId"] == turn["spanId"]
    assert call["parentSpanId"] == step["spanId"]
    assert (attempt["kind"], call["kind"], call["status"]) == (3, 1, {"code": 2, "message": "failed"})
    values = {each["key"]: each["value"] for each in attempt["attributes"]}
    assert values["gen_ai.provider.name"] == {"stringValue": "openai"}
    assert all(
        set(each) <= {"stringValue", "intValue", "doubleValue", "boolValue", "arrayValue"} for each in values.values()
    )
    assert [each["name"] for each in turn["events"]] == ["loop_warning"]


def test_the_message_types_of_opentelemetry_read_it() -> None:
    json_format = pytest.importorskip("google.protobuf.json_format")
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    message = json_format.ParseDict(trace_to_otlp_json(TRACE), service.ExportTraceServiceRequest())
    (found,) = message.resource_spans[0].scope_spans
    assert [each.name for each in found.spans] == [
        "invoke_agent sophon",
        "plan_step one",
        "chat gpt",
        "execute_tool files.read",
    ]


def test_a_turn_without_a_trace_id_has_the_same_one_in_each_export() -> None:
    first, second = (spans(replace(TRACE, trace_id="", span_id="", parent_span_id=""))[0] for _ in range(2))
    assert (first["traceId"], first["spanId"]) == (second["traceId"], second["spanId"])
    assert (len(first["traceId"]), len(first["spanId"])) == (32, 16)
    assert "parentSpanId" not in first


def test_the_person_is_a_hash() -> None:
    assert "ada" not in str(trace_to_otlp_json(TRACE))
