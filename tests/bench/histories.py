"""First token behind a stored history, through a host over SQLite and a provider over HTTP; and how long a chunk of
another session waits meanwhile.

`python -m tests.bench.histories` prints it alone.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sophon import Message, ModelRequest, ModelResponse, Services
from sophon.models.model import ModelInfo
from sophon.models.providers.openai.model import OpenAIModel
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.bench.provider import provider

LENGTHS = (10, 1000, 4000)
CHARACTERS = 540
TURNS, COLD_TURNS = 15, 5
SHORTENED_TURNS = 5
NARROW_WINDOW = 100_000
"""Tokens of the window that the longest conversation outgrows: it is summarised, and then still truncated."""
INTERVAL_SECONDS = 0.001
"""Time between two chunks of the other session."""
SENTENCE = "The quick brown fox jumps over the lazy dog, again and again; nobody knows why it does that. "


@dataclass
class Samples:
    """Milliseconds of turns: to the first token, of CPU time, and the longest wait of another session's chunk."""

    first_token: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    wait: list[float] = field(default_factory=list)


class Ticker:
    """A model that streams a chunk every millisecond until it is told to stop, and notes how late each one was."""

    def __init__(self) -> None:
        self.info = ModelInfo("ticker", "ticker")
        self.longest = 0.0
        self._over = asyncio.Event()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while not self._over.is_set():
            due = max(due + INTERVAL_SECONDS, loop.time())
            await asyncio.sleep(due - loop.time())
            self.longest = max(self.longest, loop.time() - due)
            if request.on_text is not None:
                request.on_text(".")
        return ModelResponse("done")

    def stop(self) -> None:
        self._over.set()

    def take_longest(self) -> float:
        """The longest wait since this was last asked, in milliseconds."""
        longest, self.longest = self.longest, 0.0
        return longest * 1000


def conversation(count: int) -> list[SessionRecord]:
    """Records of a conversation of `count` messages."""
    return [
        SessionRecord("message", "r", Message(("user", "assistant")[n % 2], f"{n} {SENTENCE * 9}"[:CHARACTERS]))
        for n in range(count)
    ]


@asynccontextmanager
async def hosted(folder: Path, url: str) -> AsyncIterator[tuple[Host, Ticker]]:
    """A host with a ticker as its last provider, and two others that differ in their windows."""
    ticker = Ticker()
    windows = {"local": 2_000_000, "narrow": NARROW_WINDOW}
    infos = [ModelInfo("model", name, context_window=window) for name, window in windows.items()]
    services = Services(
        models=[*(OpenAIModel(info, base_url=url) for info in infos), ticker],
        store=host_store_from_url("sqlite:///bench.db", folder=folder),
        settings={"Planning": {"Mode": "Never"}},
    )
    async with Host(services, twelve(services)) as host:
        await services.gateway.warm_up()
        try:
            yield host, ticker
        finally:
            ticker.stop()


async def first_token(host: Host, session: str, provider_id: str = "local") -> float:
    """Seconds from the message to the first chunk of the answer; waits for the end of the turn."""
    heard: asyncio.Queue[tuple[str, float]] = asyncio.Queue()

    def hear(frame: WireEvent) -> None:
        heard.put_nowait((frame.name, time.perf_counter()))

    await host.services.store.sessions.get_or_create(session, "bench")
    await host.event_bus.subscribe(session, hear)
    began, first = time.perf_counter(), 0.0
    await host.accept(RunRequest("hello", session, "bench", stream=True, model=f"{provider_id}/model"))
    while (event := await heard.get())[0] != "task_completed":
        if event[0] == "task_failed":
            raise RuntimeError("the turn failed")
        if event[0] == "stream_chunk" and not first:
            first = event[1] - began
    host.event_bus.unsubscribe(session, hear)
    return first


async def measure_lengths(lengths: Sequence[int] = LENGTHS) -> dict[tuple[int, bool], Samples]:
    """(length, whether its history was in the cache) -> samples, one after the other within every repetition; the
    length 0 is an empty history.
    """
    found: dict[tuple[int, bool], Samples] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with provider() as url, hosted(Path(folder), url) as (host, ticker):
            store = host.services.store
            assert isinstance(store, SqlHostStore)
            for length in lengths:
                await store.sessions.append(f"s{length}", conversation(length), owner="bench")
                await first_token(host, f"s{length}")
            await host.accept(RunRequest("go on", "other", "bench", stream=True, model="ticker/ticker"))
            await asyncio.sleep(0.05)
            gc.collect()
            gc.freeze()
            for repetition in range(TURNS):
                for length in (0, *lengths):
                    session = f"s{length}" if length else f"empty-{repetition}"
                    if repetition < COLD_TURNS:
                        store.sessions.history_cache.clear()
                        await _measure(host, ticker, session, found.setdefault((length, False), Samples()))
                    session = f"s{length}" if length else f"another-{repetition}"
                    await _measure(host, ticker, session, found.setdefault((length, True), Samples()))
    return found


async def measure_shortening(length: int = LENGTHS[-1]) -> Samples:
    """Turns in which a conversation of `length` messages is summarised and truncated."""
    samples = Samples()
    with tempfile.TemporaryDirectory() as folder:
        async with provider() as url, hosted(Path(folder), url) as (host, ticker):
            sessions = [f"s{number}" for number in range(SHORTENED_TURNS)]
            for session in sessions:
                await host.services.store.sessions.append(session, conversation(length), owner="bench")
            await first_token(host, "warm")
            await host.accept(RunRequest("go on", "other", "bench", stream=True, model="ticker/ticker"))
            for session in sessions:
                await first_token(host, session)  # the history is cached; this model's window is wide enough
                gc.collect()
                gc.freeze()
                await _measure(host, ticker, session, samples, "narrow")
    return samples


async def _measure(host: Host, ticker: Ticker, session: str, samples: Samples, provider_id: str = "local") -> None:
    await asyncio.sleep(0.02)
    ticker.take_longest()
    began = time.process_time()
    samples.first_token.append(await first_token(host, session, provider_id) * 1e3)
    samples.cpu.append((time.process_time() - began) * 1e3)
    samples.wait.append(ticker.take_longest())


async def measure() -> None:
    """Print the least of each, beside the empty history."""
    found = await measure_lengths()
    empty = found[0, True]
    for is_cached in (True, False):
        for length in LENGTHS:
            _print(
                found[length, is_cached], empty, f"behind {length:,} messages{'' if is_cached else ', after a start'}"
            )
    _print(await measure_shortening(), empty, f"{LENGTHS[-1]:,} messages that are shortened")


def _print(each: Samples, empty: Samples, when: str) -> None:
    for what, ours, base in (
        ("first token", each.first_token, empty.first_token),
        ("CPU of the turn", each.cpu, empty.cpu),
        ("wait of another's chunk", each.wait, empty.wait),
    ):
        name, ratio = f"{what}, {when}", min(ours) / min(base)
        print(f"{name:<58}{min(ours):>10.1f} ms    {'an empty history':<32}{min(base):>9.1f} ms    {ratio:>7.1f}x")


if __name__ == "__main__":
    asyncio.run(measure())
