"""Messages through a host, from accept to outcome, with a model that answers at once; beside the chain alone."""

import asyncio
import gc
import tempfile
import time
import tracemalloc
from pathlib import Path
from types import TracebackType
from typing import Self

from sophon import ModelRequest, Services
from sophon.testing import FunctionModel
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve

SESSIONS = 20
STORES = {"memory": "memory://", "SQLite": "sqlite:///bench.db"}


async def at_once(request: ModelRequest) -> str:
    """Answer with what was said."""
    return request.messages[-1].content


class Hosted:
    """A host over one kind of store, and the chain of it."""

    def __init__(self, store: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        kept = host_store_from_url(STORES[store], folder=Path(self._folder.name))
        settings = {"AgentExecution": {"MaxConcurrentTasks": SESSIONS}, "Queue": {"Capacity": 10_000}}
        self._services = Services(models=FunctionModel(at_once), store=kept, settings=settings)
        self._host = Host(self._services, twelve(self._services))
        # The chain alone has no host that listens to its events and writes its outcomes.
        self._alone = Services(models=FunctionModel(at_once), store=kept, settings=settings)
        self._chain = twelve(self._alone)
        self._rounds = 0

    async def __aenter__(self) -> Self:
        await self._host.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._host.__aexit__(kind, error, trace)
        self._folder.cleanup()

    async def messages(self, count: int) -> float:
        """Wall seconds per message, sent by `SESSIONS` at once, each one after the other."""
        return await self._all(count, self._sent)

    async def turns(self, count: int) -> float:
        """The same through the chain alone: no queue, no runs, no events."""
        return await self._all(count, self._turned)

    async def _all(self, count, each) -> float:
        self._rounds += 1
        began = time.perf_counter()
        await asyncio.gather(*(each(f"{self._rounds}-{number}", count // SESSIONS) for number in range(SESSIONS)))
        return (time.perf_counter() - began) / count

    async def _sent(self, session: str, count: int) -> None:
        over: asyncio.Queue[str] = asyncio.Queue()
        await self._services.store.sessions.get_or_create(session, "bench")

        def hear(frame: WireEvent) -> None:
            over.put_nowait(frame.name)

        await self._host.event_bus.subscribe(session, hear)
        for _ in range(count):
            await self._host.accept(RunRequest("hello", session, "bench"))
        for _ in range(count):
            while await over.get() != "task_completed":
                pass
        self._host.event_bus.unsubscribe(session, hear)

    async def _turned(self, session: str, count: int) -> None:
        for _ in range(count):
            await self._chain.run(self._alone.turn("hello", session_id=session))


async def session_kilobytes(sessions: int) -> float:
    """What a host holds of a session in which nothing goes on any more, the store left out: it is SQLite's business."""
    async with Hosted("SQLite") as here:
        await here.messages(SESSIONS)
        gc.collect()
        tracemalloc.start()
        for _ in range(sessions // SESSIONS):
            await here.messages(SESSIONS)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return held / sessions / 1024
