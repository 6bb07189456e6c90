"""SQL goals: a row per goal, with columns for what is asked for and the whole goal in `data`."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.goals.goal import Goal
from sophon.goals.state_machine import LIVE_STATES, GoalState
from sophon.stores.events.sql import add_events
from sophon.stores.goals.contract import GoalEvents, GoalWrite
from sophon.stores.sql.database import Database
from sophon.stores.sql.schema import goals

_OWN_COLUMNS = ("id", "owner", "session_id", "work_session_id", "state", "priority", "finished_at", "version")


class SqlGoalStore:
    """The goals of an `SqlStore`; see `GoalStore`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def add(self, goal: Goal, *, most_live: int | None = None) -> Goal | None:
        """See `GoalStore.add`."""
        return (await self.add_with_events(goal, lambda _: (), most_live=most_live)).goal

    async def change(self, goal: Goal) -> Goal | None:
        """See `GoalStore.change`."""
        return (await self.change_with_events(goal, lambda _: ())).goal

    async def add_with_events(self, goal: Goal, events: GoalEvents, *, most_live: int | None = None) -> GoalWrite:
        """See `GoalStore.add_with_events`."""
        at = self._clock.now()
        return await self._database.write(partial(_add, goal=goal, most_live=most_live, events=events, at=at))

    async def change_with_events(self, goal: Goal, events: GoalEvents) -> GoalWrite:
        """See `GoalStore.change_with_events`."""
        return await self._database.write(partial(_change, goal=goal, events=events, at=self._clock.now()))

    async def find(self, goal_id: str) -> Goal | None:
        """See `GoalStore.find`."""
        return await self._database.read(partial(_find, goal_id=goal_id))

    async def list(
        self,
        *,
        owner: str | None = None,
        session_id: str | None = None,
        states: Collection[GoalState] | None = None,
        limit: int = 100,
    ) -> list[Goal]:
        """See `GoalStore.list`."""
        query = select(goals.c.data).order_by(goals.c.number.desc()).limit(max(limit, 0))
        if owner is not None:
            query = query.where(goals.c.owner == owner)
        if session_id is not None:
            query = query.where(goals.c.session_id == session_id)
        if states is not None:
            query = query.where(goals.c.state.in_(list(states)))
        return [*await self._read(query)]

    async def list_live(self) -> Sequence[Goal]:
        """See `GoalStore.list_live`."""
        order = (goals.c.priority.desc(), goals.c.number)
        return await self._read(select(goals.c.data).where(goals.c.state.in_(LIVE_STATES)).order_by(*order))

    async def list_expired(self, before: datetime, limit: int = 100) -> Sequence[Goal]:
        """See `GoalStore.list_expired`."""
        old = select(goals.c.data).where(goals.c.finished_at < before).order_by(goals.c.number)
        return await self._read(old.limit(max(limit, 0)))

    async def remove(self, goal_id: str) -> bool:
        """See `GoalStore.remove`."""
        ended = delete(goals).where(goals.c.id == goal_id, goals.c.finished_at.is_not(None))
        return await self._database.write(lambda connection: connection.execute(ended).rowcount) > 0

    async def _read(self, query: Any) -> Sequence[Goal]:
        return await self._database.read(
            lambda connection: [Goal.from_json(data) for data in connection.execute(query).scalars()]
        )


def _add(connection: Connection, goal: Goal, most_live: int | None, events: GoalEvents, at: datetime) -> GoalWrite:
    known = _find(connection, goal.id)
    if known is not None:
        return GoalWrite(known)
    if most_live is not None and _count_live(connection, goal.owner) >= most_live:
        return GoalWrite(None)
    connection.execute(insert(goals), _row(goal))
    return GoalWrite(goal, _log(connection, goal, events, at))


def _change(connection: Connection, goal: Goal, events: GoalEvents, at: datetime) -> GoalWrite:
    changed = replace(goal, version=goal.version + 1)
    same = (goals.c.id == goal.id) & (goals.c.version == goal.version)
    result = connection.execute(update(goals).where(same).values(_row(changed)))
    return GoalWrite(changed, _log(connection, changed, events, at)) if result.rowcount else GoalWrite(None)


def _log(connection: Connection, goal: Goal, events: GoalEvents, at: datetime) -> int | None:
    rows = events(goal)
    try:
        return add_events(connection, goal.report_session_id, rows, at) if rows else 0
    except NotFound:  # found before anything of the log was written
        return None


def _find(connection: Connection, goal_id: str) -> Goal | None:
    data = connection.execute(select(goals.c.data).where(goals.c.id == goal_id)).scalar_one_or_none()
    return None if data is None else Goal.from_json(data)


def _count_live(connection: Connection, owner: str) -> int:
    query = select(func.count()).where(goals.c.owner == owner, goals.c.state.in_(LIVE_STATES))
    return connection.execute(query).scalar_one()


def _row(goal: Goal) -> dict[str, Any]:
    return {name: getattr(goal, name) for name in _OWN_COLUMNS} | {"data": goal.to_json()}
