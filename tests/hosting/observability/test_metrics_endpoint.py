"""What Prometheus gets from a host as it is served: over its own address, with its hub and its queue."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import socketio
from prometheus_client.parser import text_string_to_metric_families

from sophon import ModelRequest, Services
from sophon.testing import FunctionModel
from sophon_hosting.host_server import HostServer, bind_address

PATIENCE_SECONDS = 30


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """A host that is open; its model answers in capitals."""

    async def answer(request: ModelRequest) -> str:
        return request.messages[-1].content.upper()

    model = FunctionModel(answer, name="brain")
    site = HostServer(Services(models=model, settings={"Planning": {"Mode": "Never"}}), {})
    address = bind_address("127.0.0.1", 0)
    await site.start(address)
    try:
        yield address.url
    finally:
        await site.shutdown(grace_seconds=0)


async def scraped(url: str) -> dict[tuple[str, ...], float]:
    """Every sample by its name and labels."""
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        answer = await client.get(f"{url}/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, *(f"{key}={value}" for key, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_prometheus_hears_of_the_clients_and_the_turns_of_a_host(url: str) -> None:
    client, ended = socketio.AsyncClient(reconnection=False), asyncio.Event()
    for outcome in ("task_completed", "task_failed", "task_cancelled"):
        client.on(outcome, lambda _: ended.set())
    await client.connect(url, transports=["websocket"], wait_timeout=PATIENCE_SECONDS)
    try:
        before = await scraped(url)
        assert (await client.call("send_message", {"content": "hello"}, timeout=PATIENCE_SECONDS))["ok"]
        await asyncio.wait_for(ended.wait(), PATIENCE_SECONDS)
        after = await scraped(url)
    finally:
        await client.disconnect()
    assert (before["sophon_hub_clients",], before["sophon_tasks_queued_total",]) == (1, 0)
    assert (after["sophon_tasks_queued_total",], after["sophon_tasks_started_total",]) == (1, 1)
    assert after["sophon_tasks_ended_total", "reason=stop", "status=completed"] == 1
    own = [name for name in after if name[0] == "sophon_model_attempts_total" and "purpose=reply" in name]
    assert own == [
        ("sophon_model_attempts_total", "model=brain/brain", "outcome=ok", "provider=brain", "purpose=reply")
    ]
    assert after["sophon_queue_capacity",] > 0
