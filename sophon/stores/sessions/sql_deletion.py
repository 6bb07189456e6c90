"""Deletion of a session in SQL, with all that belongs to it, within a transaction."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, select, update

from sophon.stores.attachments.sql import delete_session_attachments
from sophon.stores.audit.sql import blank_session_texts
from sophon.stores.data_labels.sql import delete_session_label
from sophon.stores.grants.sql import delete_session_grants
from sophon.stores.memories.sql import delete_session_memories
from sophon.stores.message_search.sql_index import remove_messages
from sophon.stores.schedules.sql import delete_session_schedules
from sophon.stores.sessions.records import session_busy
from sophon.stores.sessions.sql_branches import list_family
from sophon.stores.sessions.sql_idle import is_idle
from sophon.stores.sessions.sql_rows import BY_ID, SELECT_SESSION, find_row
from sophon.stores.sql.goal_deletion import delete_session_goals
from sophon.stores.sql.row_keys import belongs_to
from sophon.stores.sql.schema import (
    IS_UNFINISHED,
    approvals,
    attempts,
    event_logs,
    events,
    journal,
    records,
    runs,
    sessions,
    traces,
)
from sophon.stores.sub_agents.sql import delete_session_sub_agents
from sophon.stores.traces.sql import delete_session_traces
from sophon.stores.trajectories.sql import delete_session_trajectories
from sophon.stores.vectors.sql import delete_session_vectors

_SELECT_UNFINISHED = (
    select(runs.c.id).where(runs.c.session_id == bindparam("which"), IS_UNFINISHED).order_by(runs.c.number).limit(1)
)


def delete_session(connection: Connection, session_id: str, *, unless_unfinished: bool) -> Sequence[str]:
    """Delete a session with its branches, and the sessions in which their goals work; return the ids of the others."""
    branches = [each.id for each in list_family(connection, session_id)]
    found = [each for branch in branches for each in delete_session_goals(connection, branch)]
    goal_sessions = [each for each in found if connection.execute(SELECT_SESSION, {"which": each}).one_or_none()]
    with_it = [each for each in dict.fromkeys([*branches, *goal_sessions]) if each != session_id]
    for each in (session_id, *with_it) if unless_unfinished else ():
        if connection.execute(_SELECT_UNFINISHED, {"which": each}).first() is not None:
            raise session_busy(each)
    _delete_one(connection, session_id)
    for each in with_it:
        _delete_one(connection, each)
    return with_it


def delete_idle_session(connection: Connection, session_id: str, before: datetime) -> Sequence[str] | None:
    """Do the same to a session that is idle since a time; None, deleting nothing, for any other."""
    if not is_idle(connection, session_id, before):
        return None
    return delete_session(connection, session_id, unless_unfinished=False)


def _delete_one(connection: Connection, session_id: str) -> None:
    own_copies = sessions.c.forked_from == session_id
    connection.execute(update(sessions).where(own_copies).values(forked_from=None, forked_at=None))
    blank_session_texts(connection, session_id)
    delete_session_label(connection, session_id)
    delete_session_grants(connection, session_id)
    delete_session_schedules(connection, session_id)
    delete_session_trajectories(connection, session_id)
    delete_session_sub_agents(connection, session_id)
    delete_session_traces(connection, session_id)
    delete_session_vectors(connection, session_id)
    delete_session_memories(connection, session_id)
    # What was spent stays in the totals, but is nothing of the next session of that id.
    connection.execute(update(attempts).where(attempts.c.session_id == session_id).values(session_id=""))
    session = find_row(connection, session_id)
    remove_messages(connection, session.number, session_id, session.owner)
    delete_session_attachments(connection, session.number)
    connection.execute(delete(approvals).where(approvals.c.session_id == session_id))
    own_runs = select(runs.c.id).where(runs.c.session_id == session_id)
    connection.execute(delete(journal).where(journal.c.turn.in_(own_runs)))
    log = connection.execute(select(event_logs.c.number).where(event_logs.c.session_id == session_id)).scalar()
    connection.execute(delete(records).where(belongs_to(records.c.key, session.number)))
    if log is not None:
        connection.execute(delete(events).where(belongs_to(events.c.key, log)))
        connection.execute(delete(traces).where(belongs_to(traces.c.key, log)))
    # Foreign keys cascade to the other tables.
    connection.execute(delete(sessions).where(BY_ID), {"which": session_id})
