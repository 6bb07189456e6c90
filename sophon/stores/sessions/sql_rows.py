"""Rows and records of sessions in SQL: found, created and changed within a transaction."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Integer, Row, RowMapping, bindparam, func, insert, select, update

from sophon.messages import Message
from sophon.stores.message_search.sql_index import IndexedText, add_messages
from sophon.stores.sessions.contract import SessionRecord, SessionSummary
from sophon.stores.sessions.provisional_title import provisional_title
from sophon.stores.sessions.record_rules import (
    first_text_of_user,
    is_conversational,
    session_not_found,
    take_up_to_bytes,
)
from sophon.stores.sessions.sql_paging import NEWEST_FIRST, summary_from_row
from sophon.stores.sql.column_types import SafeText, belongs_to, to_key, to_seq
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.schema import records, sessions
from sophon.stores.texts.sql import TextReader, TextWriter

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
        sessions.c.owner,
        # Whether it has neither a title nor a provisional one.
        (func.length(sessions.c.title, type_=Integer()) + func.length(sessions.c.provisional_title, type_=Integer())),
    ).where(BY_ID)
)
_SET_PROVISIONAL_TITLE = PreparedStatement(
    lambda _: update(sessions).where(BY_ID).values(provisional_title=bindparam("beginning", type_=SafeText()))
)
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

_INSERT_RECORDS = PreparedStatement(lambda _: insert(records))


def create_session(connection: Connection, session_id: str, owner: str, now: datetime, text: str = "") -> None:
    """Create a session without records unless it exists; a message that comes gives it its provisional title."""
    found = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if found is None:
        fresh = {"id": session_id, "owner": owner, "title": "", "last_seq": 0, "said": 0}
        fresh["provisional_title"] = provisional_title(text)
        insert_session(connection, {**fresh, "created_at": now, "updated_at": now})
    elif not found[3]:
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


def select_last_seq(connection: Connection, session_id: str) -> int:
    """Return the last seq of a session; 0 if it does not exist."""
    session = connection.execute(SELECT_SESSION, {"which": session_id}).one_or_none()
    return session.last_seq if session else 0


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


def add_records(
    connection: Connection,
    session_id: str,
    new: Sequence[SessionRecord],
    owner: str,
    text_writer: TextWriter | None = None,
) -> int:
    """Append stamped records to a session, creating it if needed; return its last seq.

    `text_writer` is the one that the transaction uses for that session.
    """
    said, at = sum(map(is_conversational, new)), new[0].at
    _ADVANCE_SEQ.execute(connection, {"which": session_id, "more": len(new), "more_said": said, "now": at})
    position = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if position is None:
        fresh = {"id": session_id, "owner": owner, "title": "", "provisional_title": "", "said": said}
        facts = {**fresh, "last_seq": len(new), "created_at": at, "updated_at": at}
        position = (insert_session(connection, facts), len(new), owner, 0)
    number, last_seq, owner, has_title = position
    if not has_title:
        suggest_title(connection, session_id, first_text_of_user(new))
    writer = text_writer or TextWriter(connection, session_id)
    insert_records(connection, to_key(number, last_seq - len(new)), new, owner, writer)
    return last_seq


def insert_records(
    connection: Connection, before: int, new: Sequence[SessionRecord], owner: str, writer: TextWriter
) -> None:
    """Insert numbered records after the key `before`, and their texts into the search index."""
    visible = [is_conversational(record) for record in new]
    keys = [before + record.seq for record in new]
    said = [
        IndexedText(key, record.message.content)
        for key, record, is_visible in zip(keys, new, visible, strict=True)
        if is_visible and record.message is not None
    ]
    if said:
        add_messages(connection, owner, said)
    rows = [
        {
            "key": key,
            "kind": record.kind,
            "run_id": record.run_id,
            "message": writer.encode(record.message.to_json()) if record.message else None,
            "data": writer.encode(record.data),
            "said": is_visible,
            "at": record.at,
        }
        for key, record, is_visible in zip(keys, new, visible, strict=True)
    ]
    _INSERT_RECORDS.execute_many(connection, rows)


def read_records(
    connection: Connection,
    session_id: str,
    after: int,
    before: int | None,
    limit: int | None,
    max_bytes: int | None,
) -> list[SessionRecord]:
    """Do what `SessionStore.list_records` does."""
    session = find_row(connection, session_id)
    last = session.last_seq if before is None else before - 1
    query = select(records).where(belongs_to(records.c.key, session.number, after, last))
    query = query.order_by(records.c.key if before is None else records.c.key.desc())
    if limit is not None:
        query = query.limit(max(limit, 0))
    texts = TextReader(connection, session_id)
    # One at a time, so that no more texts are read than the page has room for.
    read = (_to_record(row, texts) for row in connection.execute(query).mappings())
    page = list(take_up_to_bytes(read, max_bytes))
    return page if before is None else page[::-1]


def _to_record(row: RowMapping, texts: TextReader) -> SessionRecord:
    message = Message.from_json(texts.decode(row["message"])) if row["message"] is not None else None
    return SessionRecord(row["kind"], row["run_id"], message, texts.decode(row["data"]), to_seq(row["key"]), row["at"])


def read_turn(connection: Connection, session_id: str, run_id: str) -> list[SessionRecord]:
    """Return the records of a run."""
    session = find_row(connection, session_id)
    own = belongs_to(records.c.key, session.number, 0, session.last_seq)
    query = select(records).where(own, records.c.run_id == run_id).order_by(records.c.key)
    texts = TextReader(connection, session_id)
    return [_to_record(row, texts) for row in connection.execute(query).mappings()]
