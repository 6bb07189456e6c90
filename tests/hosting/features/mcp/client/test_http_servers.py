"""Servers over streamable HTTP with streams of events: questions, progress and cancellation work there too."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon import Decision
from tests.hosting.features.mcp.client.sites import FEATURED, Site, call, running

pytestmark = pytest.mark.anyio


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """URL of a running server in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = [sys.executable, "-I", FEATURED, str(tmp_path / "ended"), "--http", str(port)]
    silent = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*program, stdout=silent, stderr=silent)
    try:
        async with asyncio.timeout(60):
            while not await _answers(port):
                await asyncio.sleep(0.02)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.wait()


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def test_a_server_with_streams_of_events_is_used_fully(url: str, tmp_path: Path) -> None:
    for protocol, version in (("Legacy", "2025-11-25"), ("Auto", "2026-07-28")):
        server = {"Id": "srv", "Url": url, "Protocol": protocol}
        async with running(server, Approval={"Questions": True}) as site:
            status = site.status("srv")
            assert (status.state, status.protocol) == ("ready", version), status.error
            await use(site)
            turn = asyncio.create_task(site.call(call("srv.wait")))
            await site.until(lambda site=site: shows(site, "srv.wait: 1"))
            turn.cancel()
            await asyncio.gather(turn, return_exceptions=True)
            await site.until((tmp_path / "ended").exists)
            (tmp_path / "ended").unlink()
            if protocol == "Auto":
                await site.call(call("srv.grow"))
                await site.until(lambda site=site: site.states("srv").get("grown") == "changed")


async def use(site: Site) -> None:
    """Call what asks, what reports, what reads and what may not ask."""
    site.gate.answers = [Decision.answer(each, decided_by="olga") for each in ("3", "1", "no", "(leave out)")]
    results = await site.call(
        call("srv.book"), call("srv.count"), call("srv.resources.read", uri="note://today"), call("srv.login")
    )
    assert 'accept: {"people":3,' in results[0]
    assert "counted" in results[1]
    assert "buy milk" in results[2]
    assert "decline" in results[3]
    assert shows(site, "srv.count: 1 of 3")


def shows(site: Site, text: str) -> bool:
    return any(text in getattr(each, "detail", "") for each in site.events.events)
