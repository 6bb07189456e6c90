"""Rows of sessions in SQL: found, created and changed within a transaction."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Integer, Row, bindparam, func, insert, select, update

from sophon.stores.sessions.contract import SessionSummary
from sophon.stores.sessions.provisional_title import provisional_title
from sophon.stores.sessions.records import session_not_found
from sophon.stores.sessions.sql_paging import NEWEST_FIRST, summary_from_row
from sophon.stores.sql.column_types import SafeText
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.schema import sessions

SUGGESTION_POOL_SIZE = 1000
"""How many of the newest ids are searched for ones similar to an unknown id."""

# Built once: SQLAlchemy spends more time on building a statement than SQLite on executing it.
BY_ID = sessions.c.id == bindparam("which")
SELECT_SESSION = select(sessions).where(BY_ID)
_INSERT_SESSION = insert(sessions)
_SELECT_POSITION = PreparedStatement(
    lambda _: select(
        sessions.c.number,
        sessions.c.last_seq,
        # Whether it has neither a title nor a provisional one.
        (func.length(sessions.c.title, type_=Integer()) + func.length(sessions.c.provisional_title, type_=Integer())),
    ).where(BY_ID)
)
_SET_PROVISIONAL_TITLE = PreparedStatement(
    lambda _: update(sessions).where(BY_ID).values(provisional_title=bindparam("beginning", type_=SafeText()))
)
_SELECT_OWNER = PreparedStatement(lambda _: select(sessions.c.owner).where(BY_ID))
_ADVANCE_SEQ = PreparedStatement(
    lambda _: (
        update(sessions)
        .where(BY_ID)
        .values(
            last_seq=sessions.c.last_seq + bindparam("more"),
            said=sessions.c.said + bindparam("more_said"),
            updated_at=bindparam("now"),
        )
    )
)


def create_session(connection: Connection, session_id: str, owner: str, now: datetime, text: str = "") -> None:
    """Create a session without records unless it exists; a message that comes gives it its provisional title."""
    found = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if found is None:
        fresh = {"id": session_id, "owner": owner, "title": "", "last_seq": 0, "said": 0}
        fresh["provisional_title"] = provisional_title(text)
        insert_session(connection, {**fresh, "created_at": now, "updated_at": now})
    elif not found[2]:
        suggest_title(connection, session_id, text)


def suggest_title(connection: Connection, session_id: str, text: str) -> None:
    """Give a session the beginning of a text as its provisional title, unless that is empty."""
    beginning = provisional_title(text)
    if beginning:
        _SET_PROVISIONAL_TITLE.execute(connection, {"which": session_id, "beginning": beginning})


def find_session(connection: Connection, session_id: str) -> SessionSummary | None:
    """Return one session; None if it does not exist."""
    row = connection.execute(SELECT_SESSION, {"which": session_id}).first()
    return None if row is None else summary_from_row(row)


def find_row(connection: Connection, session_id: str) -> Row[Any]:
    """Return the row of a session. Raises NotFound."""
    session = connection.execute(SELECT_SESSION, {"which": session_id}).one_or_none()
    if session is None:
        raise session_not_found_error(connection, session_id)
    return session


def session_not_found_error(connection: Connection, session_id: str) -> Exception:
    """Return the NotFound error for an unknown session, with similar ids among the newest."""
    newest = connection.execute(select(sessions.c.id).order_by(*NEWEST_FIRST).limit(SUGGESTION_POOL_SIZE))
    return session_not_found(session_id, newest.scalars())


def owner_of(connection: Connection, session_id: str) -> str:
    """Return the owner of a session; "" if it does not exist."""
    row = _SELECT_OWNER.fetch_record(connection, {"which": session_id})
    return "" if row is None else str(row[0])


def select_last_seq(connection: Connection, session_id: str) -> int:
    """Return the last seq of a session; 0 if it does not exist."""
    session = connection.execute(SELECT_SESSION, {"which": session_id}).one_or_none()
    return session.last_seq if session else 0


def advance_seq(
    connection: Connection, session_id: str, more: int, more_said: int, owner: str, now: datetime | None
) -> tuple[int, int, bool]:
    """Advance the last seq, creating the session if needed; return its row number, the last seq, and whether it has a
    title or a provisional one.
    """
    facts = {"which": session_id, "more": more, "more_said": more_said, "now": now}
    _ADVANCE_SEQ.execute(connection, facts)
    grown = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if grown is not None:
        return grown[0], grown[1], bool(grown[2])
    fresh = {"id": session_id, "owner": owner, "title": "", "last_seq": more, "said": more_said}
    fresh["provisional_title"] = ""
    return insert_session(connection, {**fresh, "created_at": now, "updated_at": now}), more, False


def insert_session(connection: Connection, facts: Mapping[str, Any]) -> int:
    """Insert a session; return its row number."""
    key = connection.execute(_INSERT_SESSION, facts).inserted_primary_key
    assert key is not None
    return int(key[0])


def update_session(connection: Connection, session_id: str, values: Mapping[str, object]) -> None:
    """Change columns of a session. Raises NotFound."""
    changed = connection.execute(update(sessions).where(BY_ID).values(values), {"which": session_id})
    if not changed.rowcount:
        raise session_not_found_error(connection, session_id)
