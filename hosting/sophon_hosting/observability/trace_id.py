"""Trace ids of requests: from W3C `traceparent` headers, or new ones."""

from sophon.traces.trace_context import new_trace_id, parse_traceparent


def trace_id_from_traceparent(traceparent: str | None) -> str:
    """Return the trace id of a `traceparent` header, or a new one if it is missing or invalid."""
    found = parse_traceparent(traceparent)
    return new_trace_id() if found is None else found.trace_id
