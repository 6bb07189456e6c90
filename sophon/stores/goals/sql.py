"""SQL goals: a row per goal, with columns for what is asked for and the whole goal in `data`."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from sophon.goals.goal import Goal
from sophon.goals.state_machine import LIVE_STATES, GoalState
from sophon.stores.sql.database import Database
from sophon.stores.sql.schema import goals

_OWN_COLUMNS = ("id", "owner", "session_id", "work_session_id", "state", "priority", "finished_at", "version")


class SqlGoalStore:
    """The goals of an `SqlStore`; see `GoalStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, goal: Goal, *, most_live: int | None = None) -> Goal | None:
        """See `GoalStore.add`."""
        return await self._database.write(partial(_add, goal=goal, most_live=most_live))

    async def change(self, goal: Goal) -> Goal | None:
        """See `GoalStore.change`."""
        return await self._database.write(partial(_change, goal=goal))

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

    async def count_live(self, owner: str) -> int:
        """See `GoalStore.count_live`."""
        return await self._database.read(partial(_count_live, owner=owner))

    async def expire(self, before: datetime) -> int:
        """See `GoalStore.expire`."""
        old = delete(goals).where(goals.c.finished_at < before)
        return await self._database.write(lambda connection: connection.execute(old).rowcount)

    async def _read(self, query: Any) -> Sequence[Goal]:
        return await self._database.read(
            lambda connection: [Goal.from_json(data) for data in connection.execute(query).scalars()]
        )


def delete_session_goals(connection: Connection, session_id: str) -> None:
    """Delete the goals of a chat or of a session of work that is deleted, in the caller's transaction."""
    own = or_(goals.c.session_id == session_id, goals.c.work_session_id == session_id)
    connection.execute(delete(goals).where(own))


def _add(connection: Connection, goal: Goal, most_live: int | None) -> Goal | None:
    known = _find(connection, goal.id)
    if known is not None:
        return known
    if most_live is not None and _count_live(connection, goal.owner) >= most_live:
        return None
    connection.execute(insert(goals), _row(goal))
    return goal


def _change(connection: Connection, goal: Goal) -> Goal | None:
    changed = replace(goal, version=goal.version + 1)
    same = (goals.c.id == goal.id) & (goals.c.version == goal.version)
    result = connection.execute(update(goals).where(same).values(_row(changed)))
    return changed if result.rowcount else None


def _find(connection: Connection, goal_id: str) -> Goal | None:
    data = connection.execute(select(goals.c.data).where(goals.c.id == goal_id)).scalar_one_or_none()
    return None if data is None else Goal.from_json(data)


def _count_live(connection: Connection, owner: str) -> int:
    query = select(func.count()).where(goals.c.owner == owner, goals.c.state.in_(LIVE_STATES))
    return connection.execute(query).scalar_one()


def _row(goal: Goal) -> dict[str, Any]:
    return {name: getattr(goal, name) for name in _OWN_COLUMNS} | {"data": goal.to_json()}
