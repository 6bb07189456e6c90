"""A sender's `traceparent` with a task over HTTP: stored with the run if it is valid, else as if there were none."""

import httpx
import pytest

from sophon_hosting.runs.traces import find_trace_origin
from tests.hosting.http.conftest import Api

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


async def test_the_header_is_stored_with_the_run(api: Api, ada: httpx.AsyncClient) -> None:
    header = f"00-{TRACE}-{SPAN}-00"
    sent = await ada.post("/api/tasks", json={"content": "hello"}, headers={"traceparent": header})
    run = await api.host.services.store.runs.get(sent.json()["task_id"])
    assert run.options["traceparent"] == header
    origin = find_trace_origin(run, api.host.services.clock.now())
    assert origin.sender is not None
    assert (origin.context.trace_id, origin.sender.span_id, origin.context.sampled) == (TRACE, SPAN, False)


@pytest.mark.parametrize(
    "header", ["hello", f"00-{TRACE}-{SPAN}", f"00-{'0' * 32}-{SPAN}-01", f"ff-{TRACE}-{SPAN}-01", "", None]
)
async def test_a_malformed_header_is_ignored(api: Api, ada: httpx.AsyncClient, header: str | None) -> None:
    headers = {} if header is None else {"traceparent": header}
    sent = await ada.post("/api/tasks", json={"content": "hello"}, headers=headers)
    assert sent.status_code < 300
    await api.until(sent.json()["task_id"], "completed")
    run = await api.host.services.store.runs.get(sent.json()["task_id"])
    assert "traceparent" not in run.options
    origin = find_trace_origin(run, api.host.services.clock.now())
    assert origin.sender is None
    assert origin.context.trace_id != TRACE
