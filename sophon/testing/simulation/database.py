"""Database of a simulated world: one SQLite database in memory, as several processes reach it over a slow, faulty way.

Each process has a `SimulatedDatabase` of its own over the `SimulatedServer`. A statement takes virtual time before and
after its effect, so that a process can die before a commit, and after it without having heard of it. The writes of a
process take effect in its order, as those of the writer thread do. What a process had sent before it died takes effect
or not, all of it: with a file the writer dies, too; a server has received it.
"""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

from sophon.clock import Clock
from sophon.errors import StoreUnavailable
from sophon.stores.health import REASONS, StoreHealth
from sophon.stores.leases import sql as lease_sql
from sophon.stores.rate_windows import sql as rate_window_sql
from sophon.stores.sql.database import Database
from sophon.stores.sql.in_memory_database import MemoryDatabase
from sophon.stores.usage import sql_reservations
from sophon.testing.simulation.clock import START
from sophon.testing.simulation.loop import SimulatedLoop
from sophon.testing.simulation.process import CURRENT_PROCESS, SimulatedProcess

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import DBAPIConnection

    from sophon.stores.sql.schema_migration import AddedTables

T = TypeVar("T")

NAME = "the simulated database"

LONGEST_SECONDS = 0.02
"""Longest time that a statement takes on its way there, or back; most are short."""


class SimulatedServer:
    """The database itself, which outlives all processes. `on_write` is called with who has written, after the effect.

    Its faults: `is_away` (no statement reaches it), `is_full` (no write takes effect), a share of writes that fail
    before they take effect (`failing_writes`), and one whose answers come `late_seconds` late (`late_answers`). A
    write whose connection breaks is answered once it is known whether it took effect: `Database.write` promises that.
    """

    def __init__(
        self,
        loop: SimulatedLoop,
        added: "AddedTables" = (),
        on_write: Callable[[SimulatedProcess | None], object] = lambda process: None,
    ) -> None:
        self.loop, self.on_write = loop, on_write
        self.core = MemoryDatabase(added)
        self.is_away = self.is_full = False
        self.failing_writes = self.late_answers = 0.0
        self.late_seconds = 10.0

    def draw_seconds(self) -> float:
        """Return the time of one way."""
        return LONGEST_SECONDS * self.loop.random.random() ** 3

    def draw_answer_seconds(self) -> float:
        """Return the time of the way back."""
        seconds = self.draw_seconds()
        if self.late_answers and self.loop.random.random() < self.late_answers:
            seconds += self.late_seconds * self.loop.random.random()
        return seconds

    def check(self, *, writes: bool) -> None:
        """Raise StoreUnavailable if a statement does not reach it, or takes no effect."""
        if self.is_away:
            raise StoreUnavailable(NAME, "unreachable", REASONS["unreachable"])
        if writes and self.is_full:
            raise StoreUnavailable(NAME, "full", REASONS["full"])
        if writes and self.failing_writes and self.loop.random.random() < self.failing_writes:
            raise StoreUnavailable(NAME, "io", REASONS["io"])


class SimulatedDatabase(Database):
    """A process's access to the database of the world."""

    def __init__(self, server: SimulatedServer, clock: Clock) -> None:
        super().__init__(NAME, server.core.database_errors)
        self.health = StoreHealth(NAME, clock.monotonic)
        self._server, self._clock = server, clock
        self._last_write_at = 0.0
        self._outlives_its_process = server.loop.random.random() < 0.5
        self.is_cut_off = False
        """Whether this process alone cannot reach it."""

    def extend(self, added: "AddedTables") -> None:
        """Have these groups of tables, too."""
        super().extend(added)
        if new := [group for group in self.added if group not in self._server.core.added]:
            self._server.core.extend(new)

    async def open(self) -> None:
        """Reach the server, and release what processes had reserved that are dead. Raises StoreUnavailable."""
        self._check(writes=False)
        await self._server.core.open()
        await self.write(lambda connection: sql_reservations.release_stale_reservations(connection, self._clock))

    async def close(self) -> None:
        """Do nothing."""

    async def read(self, work: "Callable[[Connection], T]") -> T:
        """See `Database.read`."""
        seconds = self._server.draw_seconds()
        return await self._call(lambda: _complete(self._server.core.read(work)), seconds, writes=False)

    async def write(self, work: "Callable[[Connection], T]") -> T:
        """See `Database.write`."""
        if self._refusal is not None:
            raise self._refusal
        loop = self._server.loop
        self._last_write_at = max(self._last_write_at, loop.time()) + self._server.draw_seconds()
        result = await self._call(
            lambda: _complete(self._server.core.write(work)), self._last_write_at - loop.time(), writes=True
        )
        self.health.record_success()
        return result

    async def run_outside_transaction(self, work: "Callable[[DBAPIConnection], T]") -> T:
        """See `Database.run_outside_transaction`."""
        return await self._server.core.run_outside_transaction(work)

    async def _call(self, work: Callable[[], T], seconds: float, *, writes: bool) -> T:
        loop, server = self._server.loop, self._server
        answer: asyncio.Future[T] = loop.create_future()
        own = contextvars.copy_context()

        def run() -> None:
            try:
                self._check(writes=writes)
                result = own.copy().run(work)
            except Exception as error:  # noqa: BLE001 - raised where it is awaited
                loop.call_later(server.draw_seconds(), reply, None, error, context=own)
            else:
                loop.call_later(server.draw_answer_seconds(), reply, result, None, context=own)
                if writes:
                    server.on_write(own.get(CURRENT_PROCESS))

        def reply(result: Any, error: Exception | None) -> None:
            if answer.done():  # whoever waited was cancelled
                return
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)

        loop.call_later(seconds, run, context=contextvars.Context() if self._outlives_its_process else own)
        try:
            return await answer
        except self.database_errors as error:
            raise self._to_runtime_error(error) from error
        except StoreUnavailable as error:
            self.health.record_failure(error.kind)
            raise

    def _check(self, *, writes: bool) -> None:
        if self.is_cut_off:
            raise StoreUnavailable(NAME, "unreachable", REASONS["unreachable"])
        self._server.check(writes=writes)


@contextmanager
def simulated_server_facts() -> Generator[None]:
    """Let the server know what one of PostgreSQL knows: a time for all its clients, and which of them are dead.

    Budget reservations belong to a simulated process until that is dead, and leases end by the world's time.
    """
    owners: dict[str, SimulatedProcess | None] = {}

    def find_owner() -> sql_reservations.ReservationOwner:
        process = CURRENT_PROCESS.get()
        name = "" if process is None else process.name
        owners[name] = process
        return sql_reservations.ReservationOwner("the simulated machine", 1, name)

    def is_orphan(connection: Any, reservation: Any, me: Any) -> bool:
        owner = owners.get(reservation.process)
        return owner is not None and owner.is_dead

    def read_time(connection: Any, clock: Any) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())

    with (
        patch.object(sql_reservations, "current_process", find_owner),
        patch.object(sql_reservations, "_is_orphan", is_orphan),
        patch.object(lease_sql, "read_server_time", read_time),
        patch.object(rate_window_sql, "read_server_time", read_time),
    ):
        yield


def _complete(work: Coroutine[Any, Any, T]) -> T:
    """Run what does not suspend."""
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value  # type: ignore[no-any-return]
    raise AssertionError("the database in memory has suspended")
