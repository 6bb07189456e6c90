"""Resident memory of `sophon serve` in a process of its own, while and after it streams long answers to its clients.

The provider and the clients are in this process. Figures are of `/proc/PID/status`: what a container is billed for.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, TCPConnector, web

from tests.bench.programs import SERVE, Program, started

ANSWER_CHARACTERS = 250_000
PIECE = ("The quick brown fox jumps over the lazy dog \N{EN DASH} again, and again. " * 2)[:100]
PIECES = ANSWER_CHARACTERS // len(PIECE)
CONCURRENT = 8
BRIEF = "Be brief"
"""Message that is answered with one piece."""
STALLED = 14
IDLE_SECONDS = 20.0
"""Time after the last answer within which the host has returned what it does not need."""


@dataclass(frozen=True)
class Figures:
    """Resident memory in MB: before, at most, and after the host was idle."""

    start: float
    peak: float
    idle: float


async def answer(request: web.Request) -> web.StreamResponse:
    """The provider: a long answer if it is streamed, otherwise two words."""
    body = await request.json()
    if not body.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": "Two words"}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": PIECE}, "finish_reason": None}]})
    usage = {"prompt_tokens": 9, "completion_tokens": 60_000}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
    is_brief = body["messages"][-1]["content"] == BRIEF
    for _ in range(1 if is_brief else PIECES):
        await response.write(f"data: {chunk}\n\n".encode())
    await response.write(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())
    return response


@asynccontextmanager
async def served() -> AsyncIterator[Program]:
    """A host with SQLite and the provider above."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    async with AsyncExitStack() as stack:
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        provider = {
            "Id": "bench",
            "Type": "openai_compatible",
            "BaseUrl": f"http://127.0.0.1:{runner.addresses[0][1]}/v1",
            "Models": ["bench-model"],
        }
        settings = {
            "Providers": [provider],
            "Planning": {"Mode": "Never"},
            "AgentExecution": {"MaxConcurrentTasks": CONCURRENT},
        }
        Path(folder, "appsettings.json").write_text(json.dumps({"Sophon": settings}))
        yield await stack.enter_async_context(started(*SERVE, folder=folder))


class Client:
    """A client over a bare WebSocket."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket, self._number = socket, 0

    @classmethod
    async def connect(cls, http: ClientSession, url: str) -> "Client":
        """A client that has entered the chat namespace."""
        socket = await http.ws_connect(f"{url}/socket.io/?EIO=4&transport=websocket", max_msg_size=0)
        await socket.receive_str()
        await socket.send_str("40")
        await socket.receive_str()
        return cls(socket)

    async def ask(self, name: str, **payload: Any) -> str:
        """Send an event, read until its acknowledgement, and return the JSON of that."""
        self._number += 1
        await self._socket.send_str(f"42{self._number}{json.dumps([name, payload])}")
        return (await self.until(f"43{self._number}[")).removeprefix(f"43{self._number}")

    async def until(self, start: str) -> str:
        """Read until a packet with this start, and return it; pings are answered."""
        while not (text := await self._socket.receive_str()).startswith(start):
            if text == "2":
                await self._socket.send_str("3")
        return text

    async def stall(self) -> None:
        """Read nothing until the host has closed the connection, which only writing shows."""
        self._transport.pause_reading()
        with suppress(ConnectionError):
            while not self._transport.is_closing():
                await asyncio.sleep(1)
                await self._socket.send_str("3")

    def cut(self) -> None:
        """End the connection without a word."""
        self._transport.abort()

    @property
    def _transport(self) -> Any:
        connection: Any = self._socket._conn
        return connection.transport


async def stream(http: ClientSession, url: str, answers: int) -> None:
    """Have so many answers streamed to clients that read them, `CONCURRENT` at a time, each in a new session."""

    async def one(number: int) -> None:
        client = await Client.connect(http, url)
        for turn in range(answers // CONCURRENT):
            session = f"s{number}-{turn}"
            await client.ask("join_session", session_id=session)
            await client.ask("send_message", content="Tell me", session_id=session)
            await client.until('42["task_completed"')
            await client.ask("leave_session", session_id=session)

    await asyncio.gather(*(one(number) for number in range(CONCURRENT)))


async def stall(http: ClientSession, url: str, answers: int, number: int) -> None:
    """A client that joins the sessions of one client of `stream`, reads nothing, and comes back when it is cut off."""
    while True:
        client = await Client.connect(http, url)
        try:
            for turn in range(answers // CONCURRENT):
                await client.ask("join_session", session_id=f"s{number}-{turn}")
            await client.stall()
        finally:
            client.cut()


async def measure_stream(answers: int) -> Figures:
    """Resident memory of a host that streams to clients that read."""
    async with served() as server, ClientSession(connector=TCPConnector(limit=0)) as http:
        start = await warmed_up(server, http)
        await stream(http, server.url, answers)
        peak = server.megabytes("VmHWM")
        await asyncio.sleep(IDLE_SECONDS)
        return Figures(start, peak, server.megabytes())


async def measure_stalled(answers: int) -> Figures:
    """Resident memory of a host of whose clients `STALLED` read nothing."""
    async with served() as server, ClientSession(connector=TCPConnector(limit=0)) as http:
        start = await warmed_up(server, http)
        stalled = [
            asyncio.create_task(stall(http, server.url, answers, number % CONCURRENT)) for number in range(STALLED)
        ]
        await stream(http, server.url, answers)
        peak = server.megabytes("VmHWM")
        for task in stalled:
            task.cancel()
        await asyncio.gather(*stalled, return_exceptions=True)
        await asyncio.sleep(IDLE_SECONDS)
        return Figures(start, peak, server.megabytes())


async def warmed_up(server: Program, http: ClientSession) -> float:
    """Resident memory of a host that has loaded the tokenizer and answered once, briefly: the baseline."""
    client = await Client.connect(http, server.url)
    await client.ask("join_session", session_id="warm-up")
    await client.ask("send_message", content=BRIEF, session_id="warm-up")
    await client.until('42["task_completed"')
    await asyncio.sleep(IDLE_SECONDS / 2)
    client.cut()
    return server.megabytes()


async def measure() -> None:
    """Print both, each beside the memory of the same host before."""
    for what, work, answers in (
        ("streaming 400 answers of 250 kB", measure_stream, 400),
        ("14 clients that read nothing of 150 MB", measure_stalled, 200),
    ):
        found = await work(answers)
        for when, megabytes in (("peak", found.peak), ("after", found.idle)):
            print(
                f"{f'memory, {what}, {when}':<58}{megabytes:>10.1f} {'MB':<6}{'the host after one brief answer':<32}"
                f"{found.start:>9.1f} {'MB':<6}{megabytes / found.start:>7.1f}x"
            )


if __name__ == "__main__":
    chosen = {"stream": measure_stream, "stalled": measure_stalled}[sys.argv[1]]
    print(asyncio.run(chosen(int(sys.argv[2]))))
