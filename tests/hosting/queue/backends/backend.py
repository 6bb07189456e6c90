"""What the suite needs of a technology. Each has a module in this folder with one subclass, which the suite finds."""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Literal, Protocol, TypeAlias, TypeVar

from sophon_hosting.queue.contract import TaskQueue

T = TypeVar("T")

Promise: TypeAlias = Literal["turns", "positions", "bound", "counts"]
"""A part of the contract that a technology may not be able to keep exactly.

`turns`: owners, and lanes of an owner, are served in turn. `positions`: a position is exactly the number of deliveries
before. `bound`: the last slot is refused exactly, also by share. `counts`: statistics are exact at once, for all hosts.
"""

PATIENCE_SECONDS = 60
"""A test that would hang fails instead; one that passes never waits for this."""

LONG_LEASE_SECONDS, SHORT_LEASE_SECONDS = 60.0, 1.0
"""Lease of a test that is not about leases, and of one that lets them end."""


@dataclass(frozen=True)
class Options:
    """What a test asks of a queue."""

    capacity: int = 100
    max_deliveries: int = 5
    owner_share: float = 1.0
    lease_seconds: float = LONG_LEASE_SECONDS
    url: str | None = None
    """URL of a server of the test's own; by default the one that all tests share."""


class OwnServer(Protocol):
    """Server process of a test's own, on a port of its own. A technology without persistence loses all by a stop."""

    @property
    def url(self) -> str: ...

    def start(self) -> None:
        """Start it, and wait until it answers."""
        ...

    def stop(self) -> None:
        """Kill it, as a crash does."""
        ...


class Backend(ABC):
    """One technology within one test.

    `lacks` names what it does not promise, each with the reason. `has_instances`: several processes share a queue, and
    deliveries have leases.
    """

    name: ClassVar[str]
    lacks: ClassVar[Mapping[Promise, str]] = {}
    has_instances: ClassVar[bool] = True
    many: ClassVar[int] = 300
    """How often a test repeats what costs a server some round trips."""

    @classmethod
    def find_reason_to_skip(cls) -> str | None:
        """Return why it cannot be tested here, in one line; None if it can."""
        return None

    @abstractmethod
    def build(self, name: str, options: Options) -> TaskQueue:
        """Build the view that one more process has of the queue of that name; it is not open yet."""

    @abstractmethod
    async def remove(self, name: str) -> None:
        """Remove what the queue of that name has left on the server."""

    @abstractmethod
    async def step(self, queue: TaskQueue) -> None:
        """Let the queue make one small step."""

    @abstractmethod
    async def settle(self, *queues: TaskQueue) -> None:
        """Let everything happen that can without time."""

    @abstractmethod
    def now(self) -> datetime:
        """Return the time on the clock of the queue."""

    @abstractmethod
    async def finish(self, work: Awaitable[T]) -> T:
        """Await something that must end, with a limit; time goes on meanwhile."""

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait until a condition is true."""

        async def ask() -> None:
            while not await condition():
                await asyncio.sleep(0.005)

        await self.finish(ask())


class ServerBackend(Backend):
    """Technology with a server of its own, in real time."""

    @classmethod
    @abstractmethod
    def find_url(cls) -> str | None:
        """Return the URL of the server; None if none answers."""

    @classmethod
    @abstractmethod
    def run_own_server(cls) -> AbstractContextManager[OwnServer]:
        """Run a server, and remove it afterwards. Only used where `find_url` finds one."""

    @classmethod
    def find_reason_to_skip(cls) -> str | None:
        """Return None in CI, where a server must be there: the test then fails for want of it."""
        if cls.find_url() is not None or "SOPHON_CI" in os.environ:
            return None
        return f"there is no server for the queue {cls.name}; set SOPHON_TEST_{cls.name.upper()} to its URL"

    async def step(self, queue: TaskQueue) -> None:
        """Make one round trip, within which the server does what it has got before."""
        await queue.statistics()

    async def settle(self, *queues: TaskQueue) -> None:
        """Make so many round trips of each that all of them have come to their ends.

        What must not happen is shown by this alone only if nothing else can be waited for: better let the taker get
        something else, and see that it is that.
        """
        for _ in range(10):
            for queue in queues:
                await self.step(queue)

    def now(self) -> datetime:
        """Return the time of this machine, which is that of the server too."""
        return datetime.now(UTC)

    async def finish(self, work: Awaitable[T]) -> T:
        """Await it, with a limit."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await work
