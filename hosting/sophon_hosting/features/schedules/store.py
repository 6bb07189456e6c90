"""SQL schedules."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, Connection, FromClause, Row, bindparam, delete, exists, func, select, update

from sophon.clock import Clock
from sophon.stores.sql.batched_deletion import delete_in_batches
from sophon.stores.sql.database import Database
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.repository import matching
from sophon.stores.sql.store_part import StorePart
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.tables import schedules

_COLUMNS = [column for column in schedules.c if column is not schedules.c.number]


class ScheduleStore(StorePart):
    """Repository of schedules. They are deleted with their session, and with the person who owns them."""

    tables = (schedules,)
    versions: ClassVar = {"schedule": select(schedules.c.version).where(schedules.c.id == bindparam("which"))}

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database, clock)
        self._callbacks: list[Callable[[], None]] = []

    @classmethod
    def delete_session(cls, connection: Connection, session_id: str) -> None:
        """See `StorePart.delete_session`."""
        connection.execute(delete(schedules).where(schedules.c.session_id == session_id))

    @classmethod
    def find_uses(cls, rows: FromClause) -> Sequence[ColumnElement[bool]]:
        """See `StorePart.find_uses`."""
        return (exists().where(schedules.c.session_id == rows.c.id, schedules.c.state != "finished"),)

    @classmethod
    def forget_person(cls, connection: Connection, person: str) -> Mapping[str, int]:
        """See `StorePart.forget_person`."""
        return {"schedules": connection.execute(delete(schedules).where(schedules.c.owner == person)).rowcount}

    async def add(self, schedule: Schedule, *, limit: int | None = None) -> bool:
        """Store a schedule; return False, storing nothing, if its owner has `limit` that are not finished.

        One whose id is known is not stored again.
        """
        added = await self._database.write(partial(_add, schedule=schedule, limit=limit))
        self._announce()
        return added

    async def find(self, schedule_id: str) -> Schedule | None:
        """Return a schedule; None if it does not exist."""
        query = select(*_COLUMNS).where(schedules.c.id == schedule_id)
        found = await self._database.read(lambda connection: connection.execute(query).one_or_none())
        return None if found is None else _schedule(found)

    async def update(self, schedule: Schedule) -> bool:
        """Store a changed schedule with the next version; return False if another version is stored, or none."""
        wanted = (schedules.c.id == schedule.id) & (schedules.c.version == schedule.version)
        statement = update(schedules).where(wanted).values(_values(schedule) | {"version": schedule.version + 1})
        changed = await self._database.write(lambda connection: connection.execute(statement).rowcount > 0)
        self._announce()
        return changed

    async def remove(self, schedule_id: str) -> bool:
        """Delete a schedule; return whether it existed."""
        statement = delete(schedules).where(schedules.c.id == schedule_id)
        removed = await self._database.write(lambda connection: connection.execute(statement).rowcount > 0)
        self._announce()
        return removed

    async def list_due(self, now: datetime, limit: int = 100) -> list[Schedule]:
        """Return the schedules whose `wake_at` has come, the earliest first."""
        query = select(*_COLUMNS).where(schedules.c.wake_at <= now)
        query = query.order_by(schedules.c.wake_at, schedules.c.number).limit(limit)
        return await self._database.read(lambda connection: [_schedule(row) for row in connection.execute(query)])

    async def find_next_wake(self) -> datetime | None:
        """Return the earliest `wake_at`; None if nothing is scheduled."""
        query = select(schedules.c.wake_at).where(schedules.c.wake_at.is_not(None)).order_by(schedules.c.wake_at)
        return await self._database.read(lambda connection: connection.execute(query.limit(1)).scalar_one_or_none())

    async def expire(self, before: datetime) -> int:
        """Delete the finished schedules whose last firing was for a time before `before`; return how many.

        Uses a transaction per batch.
        """
        is_old = (schedules.c.state == "finished") & (schedules.c.last_due_at < before)
        old = select(schedules.c.number).where(is_old).order_by(schedules.c.number)
        return await delete_in_batches(self._database, schedules.c.number, old)

    def watch(self, callback: Callable[[], None]) -> None:
        """Call `callback` after each change that this object makes; it must not block."""
        self._callbacks.append(callback)

    def _announce(self) -> None:
        for callback in self._callbacks:
            callback()

    async def list(self, *, owner: str | None = None, session_id: str | None = None) -> list[Schedule]:
        """Return the schedules of an owner, of a session, or all, oldest first."""
        query = select(*_COLUMNS).order_by(schedules.c.number)
        query = query.where(*matching({schedules.c.owner: owner, schedules.c.session_id: session_id}))
        return await self._database.read(lambda connection: [_schedule(row) for row in connection.execute(query)])


def _add(connection: Connection, schedule: Schedule, limit: int | None) -> bool:
    if connection.execute(select(schedules.c.number).where(schedules.c.id == schedule.id)).first() is not None:
        return True
    is_own = (schedules.c.owner == schedule.owner) & (schedules.c.state != "finished")
    own = connection.execute(select(func.count()).select_from(schedules).where(is_own)).scalar_one()
    if limit is not None and own >= limit:
        return False
    connection.execute(
        build_insert(connection.dialect.name, schedules).values(_values(schedule)).on_conflict_do_nothing()
    )
    return True


def _values(schedule: Schedule) -> dict[str, Any]:
    return {column.name: getattr(schedule, column.name) for column in _COLUMNS} | {"origin": dict(schedule.origin)}


def _schedule(row: Row[Any]) -> Schedule:
    return Schedule(**row._mapping)  # pyright: ignore[reportPrivateUsage] - SQLAlchemy's public name of it
