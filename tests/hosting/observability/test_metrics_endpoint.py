"""What Prometheus gets from a host as it is served: over its own address, with its hub and its queue."""

import asyncio
import math
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import socketio
from prometheus_client.parser import text_string_to_metric_families

from sophon import ModelRequest, Services
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore

PATIENCE_SECONDS = 60


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """A host that is open; its model answers in capitals."""

    async def answer(request: ModelRequest) -> str:
        return request.messages[-1].content.upper()

    model = FunctionModel(answer, name="brain")
    site = HostServer(
        Services(models=model, settings={"Planning": {"Mode": "Never"}}, store=SqlHostStore("memory://")), {}
    )
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


def damage(file: Path) -> None:
    """Overwrite all pages of a database but the first."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(b"\xa5" * (file.stat().st_size - 4096))


async def test_a_store_that_is_damaged_at_run_time_is_in_the_metrics(tmp_path: Path) -> None:
    site = HostServer(Services(store=SqlHostStore("sqlite:///s.db", folder=tmp_path)), {})
    address = bind_address("127.0.0.1", 0)
    await site.start(address)
    try:
        damage(tmp_path / "s.db")
        found = await scraped(address.url)
    finally:
        await site.shutdown(grace_seconds=0)
    assert found["sophon_store_available",] == 0
    assert found["sophon_store_failures_total", "kind=damaged"] > 0
    assert math.isnan(found["sophon_outbox_dead",])
    assert found["sophon_queue_capacity",] > 0


async def test_a_store_that_hangs_holds_up_no_scrape() -> None:
    async def hang() -> int:
        return await asyncio.Event().wait()

    site = HostServer(Services(clock=VirtualClock(), store=SqlHostStore("memory://", clock=VirtualClock())), {})
    address = bind_address("127.0.0.1", 0)
    await site.start(address)
    try:
        site.services.store.outbox.count_dead = hang  # type: ignore[method-assign]
        found = await scraped(address.url)
    finally:
        await site.shutdown(grace_seconds=0)
    assert math.isnan(found["sophon_outbox_dead",])
