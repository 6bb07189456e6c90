"""A real host on loopback whose tools and agent are offered to the SDK's own client."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from mcp import Client

from sophon.clock import SystemClock
from sophon_hosting.features.mcp.server.server import create_server
from sophon_hosting.operations.client import AsyncClient
from tests.hosting.http.conftest import Api, api, serve
from tests.programs import program

__all__ = ["api", "program", "serve"]

PROGRAM = [sys.executable, "-m", "sophon_hosting.cli", "mcp", "serve"]


def environment(token: str | None = None) -> dict[str, str]:
    """What a child process gets: the paths of this tree, and a token."""
    paths = os.pathsep.join(path for path in sys.path if path)
    kept = {name: value for name, value in os.environ.items() if name != "SOPHON_TOKEN"}
    return {**kept, "PYTHONPATH": paths, **({"SOPHON_TOKEN": token} if token else {})}


async def decide(host: Api, user: str, verdict: str) -> None:
    """Decide the first approval that is asked for, over HTTP."""
    client = await host.open(user)
    async with asyncio.timeout(60):
        while not (waiting := (await client.get("/api/approvals?open_only=true")).json()["items"]):
            await asyncio.sleep(0)
    answer = await client.post(f"/api/approvals/{waiting[0]['approval_id']}", json={"decision": verdict})
    assert answer.status_code == 200, answer.text


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., Any]]:
    """Connects a client, in this process, to the server for a token of a host."""
    async with AsyncExitStack() as stack:

        async def connect(host: Api, token: str = "token-of-ada", **options: Any) -> Client:
            server = create_server(lambda _: AsyncClient(host.url, token), SystemClock())
            return await stack.enter_async_context(Client(server, **options))

        yield connect
