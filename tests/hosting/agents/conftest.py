"""A host with agents over each store; a second host is the next process over the same one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from sophon.stores.contract import Store
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.runs.contract import Run
from tests.agents import Workshop
from tests.databases import SQLITE, copy_database


class HostedShop(Workshop):
    """A workshop on a host."""

    store: Store
    hosts: list[Host]

    async def host(self) -> Host:
        """Start a host; one that runs already is the process before."""
        self.open()
        host = Host(self.services, self.chain)
        self.hosts.append(host)
        await host.start()
        return host

    async def send(self, text: str = "hello", session_id: str = "s") -> TaskReceipt:
        return await self.hosts[-1].accept(RunRequest(text, session_id, "ada"))

    async def until(self, found: Callable[[], Awaitable[bool]] | Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while True:
                seen = found()
                if await seen if isinstance(seen, Awaitable) else seen:
                    return
                await asyncio.sleep(0)

    async def status(self, receipt: TaskReceipt, *wanted: str) -> Run:
        async def reached() -> bool:
            return (await self.store.runs.get(receipt.task_id)).status in wanted

        await self.until(reached)
        return await self.store.runs.get(receipt.task_id)

    async def ended(self, receipt: TaskReceipt) -> Run:
        return await self.status(receipt, "completed", "failed", "cancelled")


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[HostedShop]:
    folder = tmp_path / "agents"
    folder.mkdir()
    workshop = HostedShop(folder)
    workshop.write("helper")
    copy_database(tmp_path)
    workshop.store = host_store_from_url(SQLITE, folder=tmp_path, clock=workshop.clock)
    workshop.options["store"] = workshop.store
    workshop.hosts = []
    await workshop.store.open()
    yield workshop
    workshop.gate.set()
    for host in workshop.hosts:
        await host.shutdown(grace_seconds=0)
    await workshop.store.close()
