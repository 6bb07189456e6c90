"""Trace context: which headers are read, and the ids that are the same in every process."""

from sophon.traces.trace_context import PROPAGATED, TraceContext, derive_span_id, find_traceparent, parse_traceparent
from tests.tables import table

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@table(
    ("header", "sampled"),
    [(f"00-{TRACE}-{SPAN}-01", True), (f" 00-{TRACE}-{SPAN}-00 ", False), (f"cc-{TRACE}-{SPAN}-01-more", True)],
)
def test_a_valid_header_is_read(header: str, sampled: bool):
    assert parse_traceparent(header) == TraceContext(TRACE, SPAN, sampled)


@table(
    "header",
    [
        None,
        "",
        "hello",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
    ],
)
def test_an_invalid_header_is_none(header: str | None):
    assert parse_traceparent(header) is None


def test_a_written_header_is_read_back():
    context = TraceContext(TRACE, SPAN, sampled=False)
    assert parse_traceparent(context.to_header()) == context
    assert context.child("1" * 16).to_header() == f"00-{TRACE}-{'1' * 16}-00"


def test_ids_of_things_differ_and_stay():
    assert derive_span_id("run") == derive_span_id("run") != derive_span_id("run", "call")
    assert len(derive_span_id("run")) == 16


def test_nothing_is_passed_on_unless_a_turn_says_so():
    assert find_traceparent() is None
    token = PROPAGATED.set(TraceContext(TRACE, SPAN))
    assert find_traceparent() == f"00-{TRACE}-{SPAN}-01"
    PROPAGATED.reset(token)
