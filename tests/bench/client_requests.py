"""Requests of one client to `sophon serve` with default settings: latency, and CPU of the process that serves them.

Beside them, in the same run and by turns, a bare aiohttp application in its own process that answers the same bytes.
`python -m tests.bench.client_requests --checkout PATH` also measures the `serve` of another working tree (`git worktree
add PATH COMMIT`), with the interpreter and the libraries of this one, and prints the ratios to it.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientSession

from tests.bench.programs import SERVE, Program, started
from tests.bench.resident_memory import Client

ROUNDS = 20
CALLS = 50
SESSIONS = 50
LONG_SESSION = 10
"""Turns of the first session; each of the others has one."""

BARE = Path(__file__).with_name("bare_answers.py")
OWN_HEADERS = ("content-length:", "date:", "server:")
"""Headers that every server writes itself."""

Line = Callable[[str, float, str, str, float], None]
Send = Callable[[int], Awaitable[bytes]]
"""Sends the request with this number over an open connection, and returns the response."""


class HttpConnection:
    """A keep-alive connection that does not parse what it receives."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncGenerator["HttpConnection"]:
        """Connect to a server."""
        address = urlsplit(url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=2**20)
        yield cls(reader, writer)
        writer.close()
        await writer.wait_closed()

    async def request(self, request: str, body: str = "") -> bytes:
        """Send a request, `METHOD PATH`, and return the response."""
        headers = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        self._writer.write(f"{request} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n{body}".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        return head + await self._reader.readexactly(length)


@dataclass(frozen=True)
class HttpRow:
    """A request over HTTP; with several bodies these are sent by turns, so that each changes something."""

    name: str
    request: str
    bodies: Sequence[str] = ("",)
    status: int = 200

    @asynccontextmanager
    async def connected(self, url: str) -> AsyncGenerator[Send]:
        """Connect to a server; each response must have the status."""
        async with HttpConnection.open(url) as connection:

            async def send(number: int) -> bytes:
                response = await connection.request(self.request, self.bodies[number % len(self.bodies)])
                assert response.startswith(b"HTTP/1.1 %d " % self.status), response
                return response

            yield send


@dataclass(frozen=True)
class EventRow:
    """An event over Socket.IO, until its acknowledgement."""

    name: str
    event: str
    payload: dict[str, Any]

    @asynccontextmanager
    async def connected(self, url: str) -> AsyncGenerator[Send]:
        """Connect to a server; each acknowledgement must be one of success."""
        async with ClientSession() as http:
            client = await Client.connect(http, url)

            async def send(number: int) -> bytes:
                acknowledged = await client.ask(self.event, **self.payload)
                assert '"ok":true' in acknowledged, acknowledged
                return acknowledged.encode()

            yield send


Row = HttpRow | EventRow


@dataclass(frozen=True)
class Server:
    """A server, and the requests to it that are measured."""

    program: Program
    rows: Sequence[Row]


@dataclass(frozen=True)
class Figures:
    """Seconds of a request: the median of its latency, and the CPU time of the server."""

    latency: float
    cpu: float


KINDS: dict[str, Callable[[Figures], float]] = {"p50": lambda each: each.latency, "CPU": lambda each: each.cpu}


def rows(session_id: str, task_id: str) -> list[Row]:
    """Return the requests to a host with this session and this finished task."""
    session = f"/api/sessions/{session_id}"
    titles = [json.dumps({"title": f"Title {number}"}) for number in range(2)]
    return [
        HttpRow("GET /api/me", "GET /api/me"),
        HttpRow("GET /api/goals", "GET /api/goals"),
        HttpRow(f"GET /api/sessions, {SESSIONS} of them", "GET /api/sessions"),
        HttpRow("GET /api/tasks?limit=50", "GET /api/tasks?limit=50"),
        HttpRow(f"GET messages of a session, {2 * LONG_SESSION} of them", f"GET {session}/messages"),
        HttpRow("PATCH a session's title", f"PATCH {session}", titles),
        HttpRow("POST /api/tasks, refused", "POST /api/tasks", ['{"contents":"hello"}'], 400),
        EventRow("Socket.IO list_sessions", "list_sessions", {}),
        EventRow("Socket.IO cancel_task, finished", "cancel_task", {"task_id": task_id}),
    ]


@asynccontextmanager
async def served(checkout: Path | None = None) -> AsyncGenerator[Server]:
    """A host with sessions in which nothing goes on any more."""
    with tempfile.TemporaryDirectory() as folder:
        async with started(*SERVE, folder=folder, checkout=checkout) as program:
            async with HttpConnection.open(program.url) as connection:
                for number in [*range(SESSIONS), *[0] * (LONG_SESSION - 1)]:
                    body = json.dumps({"content": f"Message {number}", "session_id": f"session-{number}"})
                    accepted = await connection.request("POST /api/tasks", body)
                    assert accepted.startswith(b"HTTP/1.1 202 "), accepted
                completed = list[dict[str, Any]]()
                while len(completed) < SESSIONS + LONG_SESSION - 1:
                    await asyncio.sleep(0.2)
                    tasks = await connection.request("GET /api/tasks?status=completed")
                    completed = json.loads(tasks.partition(b"\r\n\r\n")[2])["items"]
            await _until_idle(program)
            yield Server(program, rows("session-0", completed[0]["task_id"]))


async def _until_idle(program: Program) -> None:
    """Wait until the program has not been busy for a second."""
    spent = program.cpu_seconds()
    while True:
        await asyncio.sleep(1)
        before, spent = spent, program.cpu_seconds()
        if spent - before < 0.02:
            return


@asynccontextmanager
async def bare(ours: Server) -> AsyncGenerator[Server]:
    """A bare application that answers the requests as `ours` does."""
    answers = await _answers(ours)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answers.json")
        path.write_text(json.dumps(answers))
        async with started("-P", str(BARE), str(path), folder=folder) as program:
            server = Server(program, ours.rows)
            assert await _answers(server) == answers
            yield server


async def _answers(server: Server) -> dict[str, dict[str, Any]]:
    """Return what a server answers, for the bare application."""
    answers: dict[str, dict[str, Any]] = {"http": {}, "events": {}}
    for row in server.rows:
        async with row.connected(server.program.url) as send:
            response = await send(0)
        if isinstance(row, EventRow):
            (answers["events"][row.event],) = json.loads(response)
        else:
            head, _, body = response.decode().partition("\r\n\r\n")
            lines = [each for each in head.split("\r\n")[1:] if not each.lower().startswith(OWN_HEADERS)]
            headers = dict(each.split(": ", 1) for each in lines)
            answers["http"][row.request] = {"status": row.status, "headers": headers, "body": body}
    return answers


async def measure_row(server: Server, index: int) -> Figures:
    """Send the requests of one row, one after the other."""
    times: list[float] = []
    async with server.rows[index].connected(server.program.url) as send:
        await send(1)
        spent = server.program.cpu_seconds()
        for number in range(CALLS):
            began = time.perf_counter()
            await send(number)
            times.append(time.perf_counter() - began)
        return Figures(statistics.median(times), (server.program.cpu_seconds() - spent) / CALLS)


async def measure(line: Line, checkout: Path | None = None) -> None:
    """Print the best of the rounds of each row, beside the bare application and the other working tree, if any."""
    async with AsyncExitStack() as stack:
        ours = await stack.enter_async_context(served())
        servers = {"ours": ours, "bare aiohttp, the same bytes": await stack.enter_async_context(bare(ours))}
        if checkout is not None:
            servers[f"checkout {checkout.name}"] = await stack.enter_async_context(served(checkout))
        found: dict[tuple[int, str], list[Figures]] = {(i, name): [] for i in range(len(ours.rows)) for name in servers}
        for _ in range(ROUNDS):
            for (index, name), figures in found.items():
                figures.append(await measure_row(servers[name], index))
        for index, row in enumerate(ours.rows):
            for what, get in KINDS.items():
                best, *others = (min(map(get, found[index, name])) * 1e6 for name in servers)
                for against, other in zip(list(servers)[1:], others, strict=True):
                    line(f"{row.name}, {what}", best, "us", against, other)


def main() -> None:
    """Print the figures of the requests alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", type=Path, help="another working tree to measure beside this one")
    asyncio.run(measure(print_line, parser.parse_args().checkout))


def print_line(what: str, ours: float, unit: str, against: str, base: float) -> None:
    """Print one figure beside its baseline."""
    print(f"{what:<52}{ours:>9.1f} {unit}  {against:<30}{base:>9.1f} {unit}{ours / base:>7.2f}x", flush=True)


if __name__ == "__main__":
    main()
