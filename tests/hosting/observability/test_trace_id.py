import re

import pytest

from sophon.traces.trace_context import new_trace_id
from sophon_hosting.observability.trace_id import trace_id_from_traceparent

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_the_trace_of_the_sender_goes_on() -> None:
    assert trace_id_from_traceparent(f"00-{TRACE}-00f067aa0ba902b7-01") == TRACE


@pytest.mark.parametrize("header", [None, f"00-{TRACE[:-1]}-00f067aa0ba902b7-01"])
def test_without_a_valid_one_a_new_trace_begins(header: str | None) -> None:
    found = trace_id_from_traceparent(header)
    assert re.fullmatch("[0-9a-f]{32}", found)
    assert found != new_trace_id()
