"""Goals: a row per goal, with columns for what is asked for and the whole goal in `data`.

Each has a version, so that of two changes of the same state only one is stored.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, TypeAlias

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Index,
    Integer,
    Table,
    Text,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import NotFound
from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime
from sophon.stores.sql.repository import matching
from sophon.stores.sql.schema.schema_metadata import RowNumber, metadata
from sophon.stores.sql.store_part import StorePart
from sophon_hosting.features.goals.rules.goal import WORK_SESSION_PREFIX, Goal
from sophon_hosting.features.goals.rules.state_machine import LIVE_STATES, GoalState
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.events.sql import add_events

# `data` is the whole goal; the other columns are for queries. A change names the `version` that it is of.
goals = Table(
    "goals",
    metadata,
    Column("number", RowNumber, primary_key=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("owner", SafeText, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("work_session_id", SafeText, nullable=False),
    Column("state", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("finished_at", UtcTime),
    Column("version", BigInteger, nullable=False),
    Column("data", JsonText, nullable=False),
    Index("goals_by_owner", "owner", "state"),
    Index("goals_by_state", "state", "priority"),
    Index("goals_by_session", "session_id"),
    Index("goals_by_work_session", "work_session_id"),
)

_OWN_COLUMNS = ("id", "owner", "session_id", "work_session_id", "state", "priority", "finished_at", "version")

GoalEvents: TypeAlias = Callable[[Goal], Sequence[LoggedEvent]]
"""Builds the rows of the events of a change, from the goal as it is stored."""


@dataclass(frozen=True, slots=True)
class GoalWrite:
    """Result of a write with events: the goal as it is stored, None if nothing was.

    `seq` is that of the last event; None if the goal's chat does not exist, so that there is no log of events.
    """

    goal: Goal | None
    seq: int | None = 0


class GoalStore(StorePart):
    """Repository of goals. Each is deleted with the chat that it reports to, and with the session that it works in."""

    tables = (goals,)
    versions: ClassVar = {"goal": select(goals.c.version).where(goals.c.id == bindparam("which"))}

    @classmethod
    def delete_linked(cls, connection: Connection, session_id: str) -> Sequence[str]:
        """Delete the goals of a chat or of a session of work; return the other sessions in which they work."""
        own = or_(goals.c.session_id == session_id, goals.c.work_session_id == session_id)
        found = [Goal.from_json(data) for data in connection.execute(select(goals.c.data).where(own)).scalars()]
        connection.execute(delete(goals).where(own))
        return [each for goal in found for each in goal.list_work_sessions() if each != session_id]

    @classmethod
    def find_uses(cls, rows: FromClause) -> Sequence[ColumnElement[bool]]:
        """See `StorePart.find_uses`: a session has a goal that lives, or works for one."""
        has_goal = exists().where(goals.c.session_id == rows.c.id, goals.c.state.in_(LIVE_STATES))
        first = goals.c.work_session_id
        # `Goal.list_work_sessions`: the others have a number behind the name of the first one.
        is_other = func.substr(rows.c.id, 1, func.length(first) + 1) == first + "-"
        is_worked_in = exists().where(or_(first == rows.c.id, is_other))
        return has_goal, rows.c.id.startswith(f"{WORK_SESSION_PREFIX}-") & is_worked_in

    @classmethod
    def forget_person(cls, connection: Connection, person: str) -> Mapping[str, int]:
        """See `StorePart.forget_person`."""
        return {"goals": connection.execute(delete(goals).where(goals.c.owner == person)).rowcount}

    async def add(self, goal: Goal, *, most_live: int | None = None) -> Goal | None:
        """Store a new goal and return it; one with a known id returns what is stored.

        None, and nothing is stored, if its owner has `most_live` goals already that are planning, active or paused.
        """
        return (await self.add_with_events(goal, lambda _: (), most_live=most_live)).goal

    async def change(self, goal: Goal) -> Goal | None:
        """Store a changed goal and return it with its next version.

        None, and nothing is stored, if what is stored has another version than `goal`, or was deleted.
        """
        return (await self.change_with_events(goal, lambda _: ())).goal

    async def add_with_events(self, goal: Goal, events: GoalEvents, *, most_live: int | None = None) -> GoalWrite:
        """Do as `add`, and store the events of a new goal in the same transaction, in the log of its chat.

        A goal with a known id is returned without events.
        """
        at = self._clock.now()
        return await self._database.write(partial(_add, goal=goal, most_live=most_live, events=events, at=at))

    async def change_with_events(self, goal: Goal, events: GoalEvents) -> GoalWrite:
        """Do as `change`, and store the events in the same transaction, in the log of the goal's chat."""
        return await self._database.write(partial(_change, goal=goal, events=events, at=self._clock.now()))

    async def find(self, goal_id: str) -> Goal | None:
        """Return one goal; None if it does not exist."""
        return await self._database.read(partial(_find, goal_id=goal_id))

    async def list(
        self,
        *,
        owner: str | None = None,
        session_id: str | None = None,
        states: Collection[GoalState] | None = None,
        limit: int = 100,
    ) -> list[Goal]:
        """Return goals of one owner, chat or of some states, or all, newest first."""
        query = select(goals.c.data).order_by(goals.c.number.desc()).limit(max(limit, 0))
        query = query.where(*matching({goals.c.owner: owner, goals.c.session_id: session_id}))
        if states is not None:
            query = query.where(goals.c.state.in_(list(states)))
        return [*await self._read(query)]

    async def list_live(self) -> Sequence[Goal]:
        """Return all goals that are planning, active or paused: the highest priority first, then the oldest."""
        order = (goals.c.priority.desc(), goals.c.number)
        return await self._read(select(goals.c.data).where(goals.c.state.in_(LIVE_STATES)).order_by(*order))

    async def list_expired(self, before: datetime, limit: int = 100) -> Sequence[Goal]:
        """Return goals that ended before a time, the oldest first."""
        old = select(goals.c.data).where(goals.c.finished_at < before).order_by(goals.c.number)
        return await self._read(old.limit(max(limit, 0)))

    async def remove(self, goal_id: str) -> bool:
        """Delete a goal that has ended, and not the sessions that it worked in; return whether there was one."""
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
