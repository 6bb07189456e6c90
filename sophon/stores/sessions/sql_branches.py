"""Branches and copies of a session in SQL, within a transaction."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, func, insert, literal, select

from sophon.errors import InputError
from sophon.stores.attachments.sql import copy_session_attachments
from sophon.stores.data_labels.sql import copy_session_label
from sophon.stores.message_search.sql_index import (
    add_messages,
    copy_messages,
    count_copies,
    read_messages,
    remove_messages,
)
from sophon.stores.sessions.contract import SessionSummary
from sophon.stores.sessions.record_rules import check_fork_position
from sophon.stores.sessions.sql_paging import summary_from_row
from sophon.stores.sessions.sql_rows import SELECT_SESSION, find_row, insert_session, update_session
from sophon.stores.sql.column_types import belongs_to, to_key
from sophon.stores.sql.schema import records, sessions
from sophon.stores.texts.sql import copy_texts


def list_family(connection: Connection, session_id: str) -> list[SessionSummary]:
    """Return the branches of a conversation in order of creation; one without branches is its own."""
    session = find_row(connection, session_id)
    if session.family is None:
        return [summary_from_row(session)]
    is_own = (sessions.c.family == session.family) & (sessions.c.owner == session.owner)
    query = select(sessions).where(is_own).order_by(sessions.c.number)
    return [summary_from_row(row) for row in connection.execute(query)]


def join_family(connection: Connection, session_id: str, values: Mapping[str, Any]) -> None:
    """Make a session a branch of a conversation, which changes what of it the search finds."""
    session = find_row(connection, session_id)
    remove_messages(connection, session.number, session_id, session.owner)
    update_session(connection, session_id, values)
    copies = count_copies(find_row(connection, session_id))
    add_messages(connection, session.owner, [*read_messages(connection, session.number, session_id, copies)])


def copy_session(
    connection: Connection, session_id: str, new_id: str, upto: int | None, now: datetime, *, branch: bool
) -> None:
    """Do what `SessionStore.fork` does within a transaction."""
    source = find_row(connection, session_id)
    check_fork_position(upto, branch=branch)
    if connection.execute(SELECT_SESSION, {"which": new_id}).one_or_none() is not None:
        raise InputError(f"session {new_id!r} exists already; choose another id")
    last_seq = source.last_seq if upto is None else min(upto, source.last_seq)
    kept = belongs_to(records.c.key, source.number, up_to=last_seq)
    said = connection.execute(select(func.count()).where(kept, records.c.said)).scalar_one()
    same = {"owner": source.owner, "title": source.title, "model": source.model, "planning": source.planning}
    same["provisional_title"] = source.provisional_title
    facts = {"id": new_id, "last_seq": last_seq, "said": said, "created_at": now, "updated_at": now}
    origin = {"forked_from": source.id, "forked_at": last_seq}
    if branch:
        origin |= {"family": source.family or source.id, "pinned": source.pinned, "archived": source.archived}
        if source.family is None:
            update_session(connection, session_id, {"family": source.id})
    number = insert_session(connection, same | facts | origin)
    if not branch:
        copy_messages(connection, source.number, source.id, source.owner, number, last_seq)
    copied = [column for column in records.c if column is not records.c.key]
    distance = literal(to_key(number, 0) - to_key(source.number, 0), BigInteger())
    log = select(records.c.key + distance, *copied).where(kept)
    connection.execute(insert(records).from_select(["key", *(column.name for column in copied)], log))
    copy_texts(connection, source.number, number)
    copy_session_label(connection, session_id, new_id)
    copy_session_attachments(connection, source.number, number)
