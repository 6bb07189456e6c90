"""What stays in memory of long answers whose turns have ended and whose clients have read them: nothing that grows."""

import asyncio
import gc
import json
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, web

from sophon import ModelRequest, ModelResponse, Services
from sophon.testing import FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.host import Host
from sophon_hosting.hub.hub import Hub
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve

PIECE = "a piece of a long answer \N{EN DASH} "
PIECES = 4000
ANSWER_BYTES = 2 * len(PIECE) * PIECES
"""Memory of the answer as a string: it has a character that takes two bytes."""
ANSWERS = 12
PATIENCE_SECONDS = 60


class Teller(FunctionModel):
    """A model that keeps no request, unlike the fake that it is."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.requests.clear()
        return await super().complete(request)


async def answer(request: ModelRequest) -> str:
    if request.on_text is None:
        return "A title"
    for number in range(PIECES):
        request.on_text(PIECE)
        if number % 500 == 0:
            await asyncio.sleep(0)
    return PIECE * PIECES


@asynccontextmanager
async def connected(folder: Path) -> AsyncIterator[ClientWebSocketResponse]:
    """A client of a host whose store is a file."""
    services = Services(
        models=Teller(answer),
        store=host_store_from_url("sqlite:///texts.db", folder=folder),
        # More consumers than answers: one that waits for its next turn holds nothing of its last.
        settings={"Planning": {"Mode": "Never"}, "AgentExecution": {"MaxConcurrentTasks": ANSWERS}},
    )
    host = Host(services, twelve(services))
    async with host, ClientSession() as http:
        app = web.Application()
        hub = Hub(host, TokenAuthenticator({}))
        hub.attach(app)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            port = runner.addresses[0][1]
            async with http.ws_connect(
                f"http://127.0.0.1:{port}/socket.io/?EIO=4&transport=websocket", max_msg_size=0
            ) as socket:
                await socket.receive_str()
                await socket.send_str("40")
                await socket.receive_str()
                yield socket
        finally:
            await runner.cleanup()


async def read_answer(socket: ClientWebSocketResponse, session_id: str) -> int:
    """Have an answer streamed; the characters that arrived as chunks."""
    payload: dict[str, Any] = {"content": "Tell me", "session_id": session_id}
    await socket.send_str(f"421{json.dumps(['send_message', payload])}")
    streamed = 0
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (text := await socket.receive_str()).startswith('42["task_completed"'):
            if text.startswith('42["stream_chunk"'):
                streamed += len(json.loads(text[2:])[1]["text"])
    return streamed


@pytest.mark.parametrize("collected", [True, False], ids=["collected", "not collected"])
async def test_what_is_alive_does_not_grow_with_the_answers_given(tmp_path: Path, collected: bool) -> None:
    """Without the collector, too: no cycle may keep a text, because a host collects seldom."""
    async with connected(tmp_path) as socket:
        alive: list[int] = []
        tracemalloc.start()
        if not collected:
            gc.disable()
        try:
            for number in range(ANSWERS):
                assert await read_answer(socket, f"s{number}") == len(PIECE) * PIECES
                await asyncio.sleep(0)
                if collected:
                    gc.collect()
                alive.append(tracemalloc.get_traced_memory()[0])
        finally:
            gc.enable()
            tracemalloc.stop()
    # Eight answers more are less than one answer more.
    assert alive[-1] - alive[3] < ANSWER_BYTES
