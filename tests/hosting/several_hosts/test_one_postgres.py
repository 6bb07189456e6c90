"""Two hosts with stores of their own over one PostgreSQL: what both are sent at once is accepted once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon import ModelRequest, Services
from sophon.clock import SystemClock
from sophon.testing import FunctionModel
from sophon_hosting.fanout.local_fanout import LocalFanout, LocalNetwork
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.queue.postgresql.queue import build_postgres_queue
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve
from tests.postgres import MIGRATED, needs_postgres, without_rows

pytestmark = needs_postgres

COUNT = 10
PATIENCE_SECONDS = 60


@pytest.fixture
def empty_store() -> None:
    without_rows()


@pytest.fixture
async def hosts(empty_store: None, tmp_path: Path) -> AsyncIterator[list[Host]]:
    network, asked, hosts = LocalNetwork(), [], []

    async def answer(request: ModelRequest) -> str:
        asked.append(request.messages[-1].content)
        return request.messages[-1].content.upper()

    for _ in range(2):
        services = Services(
            models=FunctionModel(answer),
            store=host_store_from_url(MIGRATED, folder=tmp_path),
            clock=SystemClock(),
            settings={
                "Queue": {"Backend": "Postgres", "Url": MIGRATED},
                "Store": {"Url": MIGRATED},
            },
        )
        queue = build_postgres_queue(services, 1.0)
        hosts.append(Host(services, twelve(services), queue=queue, fanout=LocalFanout(network)))
    for host in hosts:
        await host.services.open()
        await host.start()
    yield hosts
    for host in hosts:
        await host.shutdown(grace_seconds=0)
        await host.services.close()


async def test_the_same_message_at_two_hosts_at_once_is_one_task(hosts) -> None:
    requests = [RunRequest(f"m{number}", f"s{number}", "ada", external_id=f"x{number}") for number in range(COUNT)]
    receipts = await asyncio.gather(*(host.accept(request) for request in requests for host in hosts))
    pairs = [receipts[start : start + 2] for start in range(0, 2 * COUNT, 2)]
    assert all(first.task_id == second.task_id for first, second in pairs)
    assert [sorted([first.created, second.created]) for first, second in pairs] == [[False, True]] * COUNT
    store = hosts[0].services.store
    async with asyncio.timeout(PATIENCE_SECONDS):
        for first, _ in pairs:
            while not (run := await store.runs.get(first.task_id)).is_finished:
                await asyncio.sleep(0.02)
            assert (run.status, run.starts) == ("completed", 1)
    for number in range(COUNT):
        names = [event.name for event in await store.events.list_after(f"s{number}", 0)]
        assert [names.count(name) for name in ("task_queued", "task_completed")] == [1, 1]
