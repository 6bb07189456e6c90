"""Sessions that nothing was added to for long and that nothing is to happen in; see `SessionStore.list_idle`."""

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, FromClause, and_, exists, func, not_, or_, select

from sophon.goals.goal import WORK_SESSION_PREFIX
from sophon.goals.state_machine import LIVE_STATES
from sophon.stores.sql.schema import goals, runs, schedules, sessions


def select_idle(connection: Connection, before: datetime, limit: int) -> list[str]:
    """Return the ids of idle sessions, the oldest first."""
    query = select(sessions.c.id).where(_is_idle(before)).order_by(sessions.c.updated_at, sessions.c.number)
    return list(connection.execute(query.limit(max(limit, 0))).scalars())


def is_idle(connection: Connection, session_id: str, before: datetime) -> bool:
    """Return whether a session is idle; False for one that does not exist."""
    query = select(sessions.c.id).where(sessions.c.id == session_id, _is_idle(before))
    return connection.execute(query).one_or_none() is not None


def _is_idle(before: datetime) -> ColumnElement[bool]:
    """Return the condition for a session that is idle with all its branches."""
    branch = sessions.alias()
    is_branch = (branch.c.family == sessions.c.family) & (branch.c.owner == sessions.c.owner)
    is_branch_used = exists().where(is_branch, not_(_is_row_idle(branch, before)))
    return and_(_is_row_idle(sessions, before), or_(sessions.c.family.is_(None), not_(is_branch_used)))


def _is_row_idle(rows: FromClause, before: datetime) -> ColumnElement[bool]:
    is_run = exists().where(runs.c.session_id == rows.c.id, runs.c.finished_at.is_(None))
    is_scheduled = exists().where(schedules.c.session_id == rows.c.id, schedules.c.state != "finished")
    has_goal = exists().where(goals.c.session_id == rows.c.id, goals.c.state.in_(LIVE_STATES))
    first = goals.c.work_session_id
    # `Goal.list_work_sessions`: the others have a number behind the name of the first one.
    is_other = func.substr(rows.c.id, 1, func.length(first) + 1) == first + "-"
    is_worked_in = rows.c.id.startswith(f"{WORK_SESSION_PREFIX}-") & exists().where(or_(first == rows.c.id, is_other))
    return and_(rows.c.updated_at < before, not_(or_(is_run, is_scheduled, has_goal, is_worked_in)))
