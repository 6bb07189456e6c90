"""Records of a session in SQL: appended and read within a transaction."""

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, insert, select

from sophon.messages import Message
from sophon.stores.message_search.sql_index import IndexedText, add_messages
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.sessions.records import first_text_of_user, is_conversational, take_up_to_bytes
from sophon.stores.sessions.sql_rows import advance_seq, find_row, owner_of, suggest_title
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.row_keys import belongs_to, to_key, to_seq
from sophon.stores.sql.schema import records
from sophon.stores.texts.sql import TextReader, TextWriter

_INSERT_RECORDS = PreparedStatement(lambda _: insert(records))


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
    visible = [is_conversational(record) for record in new]
    number, last_seq, has_title = advance_seq(connection, session_id, len(new), sum(visible), owner, new[0].at)
    if not has_title:
        suggest_title(connection, session_id, first_text_of_user(new))
    writer = text_writer or TextWriter(connection, session_id)
    if any(visible):
        owner = owner_of(connection, session_id)
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
