import re

import pytest

from sophon.trace_context import new_trace_id
from sophon_hosting.observability.trace_id import trace_id_from_traceparent

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    "header", [f"00-{TRACE}-{PARENT}-01", f" 00-{TRACE}-{PARENT}-00 ", f"cc-{TRACE}-{PARENT}-01-what"]
)
def test_the_trace_of_the_sender_goes_on(header: str) -> None:
    assert trace_id_from_traceparent(header) == TRACE


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "nonsense",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{TRACE[:-1]}-{PARENT}-01",
    ],
)
def test_anything_else_begins_a_new_one(header: str | None) -> None:
    found = trace_id_from_traceparent(header)
    assert found != TRACE
    assert re.fullmatch("[0-9a-f]{32}", found)


def test_traces_differ() -> None:
    assert new_trace_id() != new_trace_id()
