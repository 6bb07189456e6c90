"""Our hub and a bare python-socketio server, each over real connections from another process."""

import asyncio
import gc
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import socketio
from aiohttp import web

from sophon import ModelRequest, Services
from sophon.events import StreamChunk, TaskCompleted
from sophon.messages import Usage
from sophon.testing import FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.host import Host
from sophon_hosting.hub.hub import Hub
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve

LISTENERS = Path(__file__).with_name("listeners.py")
PIECE = "token "
Emit = Callable[[int], Awaitable[None]]
"""Sends so many chunks and the end to everybody in the session `bench`."""


async def instantly(request: ModelRequest) -> str:
    """The answer of a model that costs no time."""
    return "fine"


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[str]:
    """The address of an application on loopback."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def ours() -> AsyncIterator[tuple[str, Emit]]:
    """A host with its hub, a store in memory, a model that answers at once."""
    services = Services(
        models=FunctionModel(instantly, stream=True),
        settings={"Planning": {"Mode": "Never"}},
        store=SqlHostStore("memory://"),
    )
    host = Host(services, twelve(services))
    await services.store.sessions.get_or_create("bench", "local")

    async def emit(count: int) -> None:
        for number in range(count):
            host.event_bus.emit(StreamChunk(session_id="bench", task_id="t", run_id="t", epoch=0, text=PIECE))
            if number % 10 == 9:
                await asyncio.sleep(0)
        end = TaskCompleted(text="", finish_reason="stop", usage=Usage(), duration_ms=0)
        end.session_id, end.task_id, end.run_id = "bench", "t", "t"
        host.event_bus.emit(end)

    async with host:
        app = web.Application()
        hub = Hub(host, TokenAuthenticator({}))
        hub.attach(app)
        async with served(app) as url:
            yield url, emit
            await hub.stop()


@asynccontextmanager
async def bare() -> AsyncIterator[tuple[str, Emit]]:
    """The library alone: a room, no bounds, nothing kept."""
    server = socketio.AsyncServer(async_mode="aiohttp")

    async def join(sid: str, payload: Any) -> dict[str, Any]:
        await server.enter_room(sid, "bench")
        return {"ok": True}

    async def send(sid: str, payload: Any) -> dict[str, Any]:
        await server.emit("stream_chunk", {"text": "fine"}, room="bench")
        await server.emit("task_completed", {"text": "fine"}, room="bench")
        return {"ok": True}

    server.on("join_session", join)
    server.on("send_message", send)

    async def emit(count: int) -> None:
        chunk = {"session_id": "bench", "task_id": "t", "run_id": "t", "epoch": 0, "text": PIECE, "offset": 0}
        for _ in range(count):
            await server.emit("stream_chunk", chunk, room="bench")
        await server.emit("task_completed", {"session_id": "bench", "task_id": "t"}, room="bench")

    app = web.Application()
    server.attach(app)
    async with served(app) as url:
        yield url, emit
        await server.shutdown()


async def _listeners(url: str, mode: str, count: int) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, "-P", str(LISTENERS), url, mode, str(count), stdin=pipe, stdout=pipe
    )


async def _said(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


@asynccontextmanager
async def hear(url: str, clients: int = 1) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Clients that hear the session `bench`; call what is yielded to wait until they have heard the end of a turn."""
    process = await _listeners(url, "hear", clients)
    assert await _said(process) == "ready"

    async def heard() -> None:
        assert await _said(process) == "done"

    yield heard
    await process.wait()


async def chunk_seconds(kind: Callable[[], Any], clients: int, chunks: int) -> float:
    """CPU seconds of the server per chunk, until every client has heard the end."""
    async with kind() as (url, emit), hear(url, clients) as heard:
        gc.collect()
        began = time.process_time()
        await emit(chunks)
        await heard()
        spent = time.process_time() - began
    return spent / chunks


async def first_chunk_seconds(kind: Callable[[], Any], messages: int) -> float:
    """From the sending of a message to the first chunk of its answer, at the client; the median."""
    async with kind() as (url, _):
        process = await _listeners(url, "ask", messages)
        found = float(await _said(process))
        await process.wait()
    return found


async def client_kilobytes(kind: Callable[[], Any], clients: int) -> float:
    """What an idle client holds at the server."""
    async with kind() as (url, _):
        gc.collect()
        tracemalloc.start()
        process = await _listeners(url, "idle", clients)
        assert await _said(process) == "ready"
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
    return held / clients / 1024
