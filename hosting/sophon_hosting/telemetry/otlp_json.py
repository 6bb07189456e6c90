"""JSON of OTLP for a trace, as collectors and trace viewers import it; it needs no package of OpenTelemetry.

Source: OpenTelemetry protocol specification 1.7, JSON Protobuf Encoding: ids in hexadecimal, 64-bit numbers as text,
enumerations as numbers.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from sophon._version import __version__
from sophon.traces.trace import Trace
from sophon_hosting.telemetry.turn_spans import TurnSpan, build_turn_spans

SPAN_KIND_INTERNAL: Final = 1
SPAN_KIND_CLIENT: Final = 3
STATUS_CODE_ERROR: Final = 2


def trace_to_otlp_json(
    trace: Trace, *, service_name: str = "sophon", providers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the spans of a turn as the body of an `ExportTraceServiceRequest`, without anything that was said."""
    trace_id = trace.trace_id or hashlib.blake2b(trace.run_id.encode(errors="replace"), digest_size=16).hexdigest()
    resource = {"service.name": service_name, "service.version": __version__}
    spans = [_span_to_json(each, trace_id) for each in build_turn_spans(trace, providers or {})]
    scope = {"name": "sophon", "version": __version__}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes_to_json(resource)},
                "scopeSpans": [{"scope": scope, "spans": spans}],
            }
        ]
    }


def _span_to_json(span: TurnSpan, trace_id: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "traceId": trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": SPAN_KIND_CLIENT if span.is_client else SPAN_KIND_INTERNAL,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _attributes_to_json(span.attributes),
        "events": [
            {"timeUnixNano": str(each.at_ns), "name": each.name, "attributes": _attributes_to_json(each.attributes)}
            for each in span.notes
        ],
        "status": {"code": STATUS_CODE_ERROR, "message": span.error} if span.error else {},
    }
    if span.parent_id:
        found["parentSpanId"] = span.parent_id
    return found


def _attributes_to_json(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value_to_json(value)} for key, value in attributes.items()]


def _value_to_json(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return {"arrayValue": {"values": [_value_to_json(each) for each in items]}}
    return {"stringValue": str(value)}
