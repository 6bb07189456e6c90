"""Deletion of goals with their chat or their session of work, in the transaction that deletes that session."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, or_, select

from sophon.goals.goal import Goal
from sophon.stores.sql.schema import goals


def delete_session_goals(connection: Connection, session_id: str) -> Sequence[str]:
    """Delete the goals of a chat or of a session of work; return the ids of the other sessions in which they work."""
    own = or_(goals.c.session_id == session_id, goals.c.work_session_id == session_id)
    found = [Goal.from_json(data) for data in connection.execute(select(goals.c.data).where(own)).scalars()]
    connection.execute(delete(goals).where(own))
    return [each for goal in found for each in goal.list_work_sessions() if each != session_id]
