"""Resident memory of `sophon serve` in a process of its own, while and after it streams long answers to its clients.

The provider and the clients are in this process. Figures are of `/proc/PID/status`: what a container is billed for.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, TCPConnector, web

ANSWER_CHARACTERS = 250_000
PIECE = ("The quick brown fox jumps over the lazy dog \N{EN DASH} again, and again. " * 2)[:100]
PIECES = ANSWER_CHARACTERS // len(PIECE)
CONCURRENT = 8
STALLED = 14
IDLE_SECONDS = 20.0
"""Time after the last answer within which the host has returned what it does not need."""


@dataclass(frozen=True)
class Figures:
    """Resident memory in MB: after the start, at most, and after the host was idle."""

    start: float
    peak: float
    idle: float


class Server:
    """A running `sophon serve`."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self._process, self.url = process, url

    def status(self, name: str) -> float:
        """A field of `/proc/PID/status`, in MB."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(text.split(f"{name}:")[1].split()[0]) / 1024


async def answer(request: web.Request) -> web.StreamResponse:
    """The provider: a long answer if it is streamed, otherwise two words."""
    body = await request.json()
    if not body.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": "Two words"}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": PIECE}, "finish_reason": None}]})
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": None}
    end["usage"] = {"prompt_tokens": 9, "completion_tokens": 60_000}
    for _ in range(PIECES):
        await response.write(f"data: {chunk}\n\n".encode())
    await response.write(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())
    return response


@asynccontextmanager
async def served() -> AsyncIterator[Server]:
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
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SOPHON", "OPENAI"))}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sophon_hosting.cli", "serve", "--port", "0"),
            cwd=folder,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if os.environ.get("BENCH_STDERR") else asyncio.subprocess.DEVNULL,
        )
        assert process.stdout is not None
        try:
            while not (line := (await process.stdout.readline()).decode()).startswith("Sophon is at "):
                assert line, "the host did not start"
            yield Server(process, line.removeprefix("Sophon is at ").strip())
        finally:
            process.terminate()
            await process.communicate()


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

    async def ask(self, name: str, **payload: Any) -> None:
        """Send an event and read until its acknowledgement."""
        self._number += 1
        await self._socket.send_str(f"42{self._number}{json.dumps([name, payload])}")
        await self.until(f"43{self._number}[")

    async def until(self, start: str) -> None:
        """Read until a packet with this start; pings are answered."""
        while not (text := await self._socket.receive_str()).startswith(start):
            if text == "2":
                await self._socket.send_str("3")

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


async def stream(http: ClientSession, url: str, answers: int, *, one_session: bool = False) -> None:
    """Have so many answers streamed to clients that read them, `CONCURRENT` at a time.

    Each is in a session of its own, or with `one_session` each of the `CONCURRENT` clients keeps to one session.
    """

    async def one(number: int) -> None:
        client = await Client.connect(http, url)
        for turn in range(answers // CONCURRENT):
            session = f"s{number}" if one_session else f"s{number}-{turn}"
            await client.ask("join_session", session_id=session)
            await client.ask("send_message", content="Tell me", session_id=session)
            await client.until('42["task_completed"')
            await client.ask("leave_session", session_id=session)

    await asyncio.gather(*(one(number) for number in range(CONCURRENT)))


async def stall(http: ClientSession, url: str) -> None:
    """A client that joins the sessions of `stream`, reads nothing more, and comes back when the host cuts it off."""
    while True:
        client = await Client.connect(http, url)
        try:
            for number in range(CONCURRENT):
                await client.ask("join_session", session_id=f"s{number}")
            await client.stall()
        finally:
            client.cut()


async def measure_stream(answers: int) -> Figures:
    """Resident memory of a host that streams to clients that read."""
    async with served() as server, ClientSession(connector=TCPConnector(limit=0)) as http:
        start = server.status("VmRSS")
        await stream(http, server.url, answers, one_session=bool(os.environ.get("ONE")))
        peak = server.status("VmHWM")
        await asyncio.sleep(IDLE_SECONDS)
        return Figures(start, peak, server.status("VmRSS"))


async def measure_stalled(answers: int) -> Figures:
    """Resident memory of a host of whose clients `STALLED` read nothing."""
    async with served() as server, ClientSession(connector=TCPConnector(limit=0)) as http:
        start = server.status("VmRSS")
        stalled = [asyncio.create_task(stall(http, server.url)) for _ in range(STALLED)]
        await asyncio.sleep(1)
        await stream(http, server.url, answers, one_session=True)
        peak = server.status("VmHWM")
        for task in stalled:
            task.cancel()
        await asyncio.gather(*stalled, return_exceptions=True)
        await asyncio.sleep(IDLE_SECONDS)
        return Figures(start, peak, server.status("VmRSS"))


if __name__ == "__main__":
    measure = {"stream": measure_stream, "stalled": measure_stalled}[sys.argv[1]]
    print(asyncio.run(measure(int(sys.argv[2]))))
