"""What a turn writes: commits, pages of the write-ahead log, first token and turns per second of a host on SQLite."""

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, event

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.testing import FunctionModel
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve

ROUNDS = 5
"""Tool rounds of a turn with tools."""

SETTLE_SECONDS = 0.1
"""Wait after a turn, so that what is written behind it counts as well."""


@tool()
async def look(what: str) -> str:
    """Look at something."""
    return f"{what} is there"


async def answer(request: ModelRequest) -> str | ModelResponse:
    """Call `look` for `ROUNDS` rounds if the user says "look", and answer with a short text."""
    [*_, user] = [index for index, each in enumerate(request.messages) if each.role == "user"]
    rounds = sum(each.role == "tool" for each in request.messages[user:])
    if request.messages[user].content == "look" and rounds < ROUNDS:
        return ModelResponse("", [ToolCall(f"c{rounds}", "look", {"what": f"thing {rounds}"})])
    return "A short answer."


class Commits:
    """Counts the commits of all SQLAlchemy engines of this process."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, connection: object) -> None:
        """Count one."""
        self.count += 1


@dataclass
class Measured:
    """A host, the folder of its database, and the counted commits."""

    host: Host
    folder: Path
    commits: Commits

    async def turn(self, text: str, session_id: str) -> float:
        """Run one turn; return the seconds to the first chunk."""
        over: asyncio.Queue[str] = asyncio.Queue()

        def hear(frame: WireEvent) -> None:
            over.put_nowait(frame.name)

        await self.host.event_bus.subscribe(session_id, hear)
        began, first = time.perf_counter(), 0.0
        await self.host.accept(RunRequest(text, session_id, "bench", stream=True))
        while (name := await over.get()) != "task_completed":
            if name == "stream_chunk" and not first:
                first = time.perf_counter() - began
        self.host.event_bus.unsubscribe(session_id, hear)
        return first

    def log_bytes(self) -> int:
        """Size of the write-ahead log."""
        return (self.folder / "bench.db-wal").stat().st_size


@asynccontextmanager
async def measured_host(sessions: int = 1) -> AsyncGenerator[Measured]:
    """Yield a host on a new SQLite database whose log is empty, with as many concurrent turns as sessions."""
    commits = Commits()
    with tempfile.TemporaryDirectory() as folder:
        store = host_store_from_url("sqlite:///bench.db", folder=Path(folder))
        settings = {"AgentExecution": {"MaxConcurrentTasks": sessions}, "Queue": {"Capacity": 10_000}}
        services = Services(models=FunctionModel(answer), tools=[look], store=store, settings=settings)
        async with Host(services, twelve(services)) as host:
            measured = Measured(host, Path(folder), commits)
            for text in ("hello", "look"):
                await measured.turn(text, "warm")
            event.listen(Engine, "commit", commits)
            try:
                yield measured
            finally:
                event.remove(Engine, "commit", commits)


async def cost_of(text: str, turns: int) -> tuple[float, float]:
    """Return commits and bytes of the log per turn."""
    async with measured_host() as here:
        await asyncio.sleep(SETTLE_SECONDS)
        with sqlite3.connect(here.folder / "bench.db") as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        commits = here.commits.count
        for _ in range(turns):
            await here.turn(text, "s")
            await asyncio.sleep(SETTLE_SECONDS)
        return (here.commits.count - commits) / turns, here.log_bytes() / turns


async def first_token_milliseconds(turns: int) -> tuple[float, float]:
    """Return median and minimum."""
    async with measured_host() as here:
        found = [await here.turn("hello", "s") for _ in range(turns)]
    return statistics.median(found) * 1000, min(found) * 1000


async def turns_per_second(sessions: int, turns: int) -> tuple[float, float]:
    """Return turns per second of wall time and milliseconds of CPU per turn, with one turn at a time per session."""
    async with measured_host(sessions) as here:
        began, cpu = time.perf_counter(), time.process_time()

        async def talk(number: int) -> None:
            for _ in range(turns // sessions):
                await here.turn("hello", f"s{number}")

        await asyncio.gather(*(talk(number) for number in range(sessions)))
        done = turns // sessions * sessions
        return done / (time.perf_counter() - began), (time.process_time() - cpu) / done * 1000


def bare_commits(transactions: int, repetitions: int = 50) -> tuple[float, float]:
    """Return seconds and bytes of the log of so many transactions that insert one row each, by hand."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, text TEXT)")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        samples: list[float] = []
        for _ in range(repetitions):
            began = time.perf_counter()
            for _ in range(transactions):
                database.execute("INSERT INTO rows (text) VALUES (?)", ("A short answer.",))
            samples.append(time.perf_counter() - began)
        size = (Path(folder) / "bench.db-wal").stat().st_size
        database.close()
    return statistics.median(samples), size / repetitions


async def measure(line: Callable[[str, float, str, str, float], None]) -> None:
    """Print what a plain turn and a tool round commit and write, the first token, and turns per second."""
    plain, with_tools = await cost_of("hello", 10), await cost_of("look", 4)
    rounds = [(more - less) / ROUNDS for more, less in zip(with_tools, plain, strict=True)]
    for what, (commits, size), least in (("plain turn", plain, 3), ("tool round", rounds, 2)):
        line(f"commits of a {what}, SQLite", commits, "", "what must be told apart", least)
        line(f"log of a {what}, SQLite", size / 1024, "KB", f"{least} bare commits", bare_commits(least)[1] / 1024)
    first, _ = await first_token_milliseconds(100)
    line("first token through a host, SQLite", first, "ms", "2 bare commits", bare_commits(2)[0] * 1000)
    for sessions in (1, 8, 64):
        speed, _ = await turns_per_second(sessions, 192)
        line(f"turns a second of {sessions} sessions, SQLite", speed, "", "3 bare commits each", 1 / bare_commits(3)[0])
