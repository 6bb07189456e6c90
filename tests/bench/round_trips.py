"""What a turn asks of a PostgreSQL store: round trips, statements and transactions, counted on the wire."""

import asyncio
import statistics
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from sqlalchemy import make_url

from sophon import Services
from sophon.testing import FunctionModel
from sophon_hosting.host import Host
from sophon_hosting.queue.queue_factory import build_queue
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve
from tests.bench.commits import ROUNDS, SETTLE_SECONDS, Commits, Measured, answer, look
from tests.postgres_cluster import find_programs, running_cluster

TURNS = 15
"""Turns of each kind; the figures are medians."""

LEAST = {"write transactions": 1, "transactions": 1, "round trips": 4, "statements": 2, "changes": 1}
"""Of a bare write in a transaction of its own: BEGIN, the lock, the change, COMMIT.

A turn has three, which must be told apart (accepted, started, done), a tool round two (called, answered). The calls of
a queue in PostgreSQL are statements and transactions too; their changes happen in the server's functions.
"""

CHANGES = ("INSERT", "UPDATE", "DELETE")
FRAMES = ("BEGIN", "COMMIT", "ROLLBACK")


class Traffic:
    """Counts what a server answers on one or more connections.

    Source: PostgreSQL, Frontend/Backend Protocol, Message Formats. Each round trip ends with ReadyForQuery (`Z`), which
    says whether a transaction is open; each statement is answered by CommandComplete (`C`) with its kind.
    """

    def __init__(self) -> None:
        self.counts = Counter[str]()

    def read(self) -> Generator[None, bytes]:
        """Read what a connection answers, in pieces that are sent to this."""
        buffer, has_changed, is_open = b"", False, False
        while True:
            buffer += yield
            while len(buffer) >= 5 and len(buffer) > (size := int.from_bytes(buffer[1:5], "big")):
                kind, body, buffer = buffer[:1], buffer[5 : size + 1], buffer[size + 1 :]
                if kind == b"C":
                    tag = body.split(b"\0")[0].split(b" ")[0].decode()
                    self.counts["statements"] += tag not in FRAMES
                    has_changed |= tag in CHANGES
                    self.counts["changes"] += tag in CHANGES
                    is_open = True
                elif kind == b"Z":
                    self.counts["round trips"] += 1
                    if is_open and body == b"I":
                        self.counts["transactions"] += 1
                        self.counts["write transactions"] += has_changed
                        has_changed = is_open = False


@contextmanager
def counting_proxy(port: int, traffic: Traffic) -> Iterator[int]:
    """Forward connections to a server on loopback, in a thread of its own; yield the port to connect to."""
    started: Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def forward(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: Callable[[bytes], None]
    ) -> None:
        with suppress(OSError):
            while piece := await reader.read(65536):
                heard(piece)
                writer.write(piece)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        counter = traffic.read()
        next(counter)
        with suppress(asyncio.CancelledError):  # at the end of the measurement
            await asyncio.gather(
                forward(reader, server_writer, lambda _: None), forward(server_reader, writer, counter.send)
            )

    async def run() -> None:
        stop = asyncio.Event()
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            started.set_result((server.sockets[0].getsockname()[1], asyncio.get_running_loop(), stop))
            await stop.wait()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(run()))
        own, loop, stop = started.result(timeout=60)
        try:
            yield own
        finally:
            loop.call_soon_threadsafe(stop.set)


@asynccontextmanager
async def hosted_on_postgres(url: str, queue: str) -> AsyncGenerator[Measured]:
    """Yield a host on a PostgreSQL store and such a queue, after a turn of each kind."""
    settings = {"Queue": {"Backend": queue} | ({} if queue == "Memory" else {"Url": url})}
    store = host_store_from_url(url, folder=Path())
    services = Services(models=FunctionModel(answer), tools=[look], store=store, settings=settings)
    async with Host(services, twelve(services), queue=build_queue(services)) as host:
        measured = Measured(host, Path(), Commits())
        for text in ("hello", "look"):
            await measured.turn(text, "warm")
        yield measured


async def count_turns(traffic: Traffic, here: Measured, text: str) -> dict[str, float]:
    """Return the median of each count over turns of one session."""
    samples: list[Counter[str]] = []
    for _ in range(TURNS):
        await asyncio.sleep(SETTLE_SECONDS)
        before = traffic.counts.copy()
        await here.turn(text, "s")
        await asyncio.sleep(SETTLE_SECONDS)
        samples.append(traffic.counts - before)
    return {name: statistics.median(each[name] for each in samples) for name in sorted({*traffic.counts})}


async def measure(line: Callable[[str, float, str, str, float], None]) -> None:
    """Print the counts of a plain turn and of a tool round, with the queue in memory and with that in PostgreSQL."""
    programs = find_programs()
    if programs is None:
        print("needs the programs of PostgreSQL")
        return
    for queue in ("Memory", "Postgres"):
        with running_cluster(programs) as cluster:
            plain, with_tools = await count_on(cluster.url, queue)
        rounds = {name: (with_tools[name] - plain[name]) / ROUNDS for name in plain}
        for what, counts, writes in (("plain turn", plain, 3), ("tool round", rounds, 2)):
            for name, each in LEAST.items():
                line(f"{name} of a {what}, queue: {queue}", counts[name], "", f"{writes} bare writes", writes * each)


async def count_on(url: str, queue: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return the counts of a plain turn and of one with `ROUNDS` tool rounds on a server."""
    traffic, server = Traffic(), make_url(url)
    assert server.port is not None
    with counting_proxy(server.port, traffic) as port:
        own = server.set(port=port).update_query_dict({"sslmode": "disable", "gssencmode": "disable"})
        async with hosted_on_postgres(own.render_as_string(hide_password=False), queue) as here:
            return await count_turns(traffic, here, "hello"), await count_turns(traffic, here, "look")
