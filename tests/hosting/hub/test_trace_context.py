"""The `traceparent` of `send_message`, sent by a real client: stored with the run if it is valid, else ignored."""

import pytest

from sophon_hosting.runs.traces import find_trace_origin

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


async def test_the_field_is_stored_with_the_run(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "hello", "traceparent": f"00-{TRACE}-{SPAN}-01"})
    run = await house.host.services.store.runs.get(receipt["task_id"])
    origin = find_trace_origin(run, house.clock.now())
    assert origin.sender is not None
    assert (origin.context.trace_id, origin.sender.span_id) == (TRACE, SPAN)


@pytest.mark.parametrize("field", ["hello", f"00-{TRACE}-{'0' * 16}-01", None])
async def test_a_malformed_field_is_ignored(house, field: str | None) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "hello", "traceparent": field})
    assert await ada.ended(receipt["task_id"]) == "HELLO"
    run = await house.host.services.store.runs.get(receipt["task_id"])
    assert "traceparent" not in run.options
    assert find_trace_origin(run, house.clock.now()).sender is None
