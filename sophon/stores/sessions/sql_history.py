"""Loading of a session's history from SQL: the records after the cached ones, in pieces of about half a millisecond.

Each piece is one job of a reader thread, so that the event loop runs between two of them: decoding holds the
interpreter's lock. Records are only ever appended, so the pieces together are the session as the last one saw it.
"""

import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from sqlalchemy import Connection, Integer, Text, bindparam, literal_column, select

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Compaction, Message
from sophon.stores.sessions.contract import History
from sophon.stores.sessions.history_cache import CachedHistory, HistoryCache, SessionIdentity, estimate_bytes
from sophon.stores.sql.column_types import to_key, to_seq
from sophon.stores.sql.database import Database
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.schema import records, sessions
from sophon.stores.texts.sql import TextReader

PIECE_RECORDS = 32
"""Records that are decoded at once, which takes about 0.4 ms."""
PIECE_BYTES = 256 * 1024
"""Bytes of texts after which a piece ends, whatever the number of its records."""

# Prepared: SQLAlchemy spends more time on these than SQLite.
_SELECT_SESSION = PreparedStatement(
    lambda _: select(
        sessions.c.number, sessions.c.created_at, sessions.c.last_seq, sessions.c.model, sessions.c.planning
    ).where(sessions.c.id == bindparam("which"))
)
_SELECT_CONVERSATION = PreparedStatement(
    lambda _: (
        select(records.c.key, records.c.kind, records.c.message, records.c.data)
        .where(
            records.c.key > bindparam("after"),
            records.c.key <= bindparam("last"),
            # Literals, because a prepared statement is given its own parameters only.
            records.c.kind.in_([literal_column(f"'{kind}'", type_=Text()) for kind in ("message", "compaction")]),
        )
        .order_by(records.c.key)
        .limit(bindparam("limit", type_=Integer()))
        .offset(literal_column("0", type_=Integer()))  # else SQLite's has a parameter
    )
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Messages that follow a seq, up to `last_seq`; `is_continued` is False if they are those of another session."""

    identity: SessionIdentity
    model: str | None
    planning: str | None
    last_seq: int
    is_continued: bool
    is_last: bool
    messages: list[Message]
    compaction: Compaction | None
    size_bytes: int


async def load_history(database: Database, cache: HistoryCache, session_id: str) -> History:
    """Return the history of a session: what is cached, and what was appended since."""
    generation, known = cache.generation, cache.get(session_id)
    messages = list(known.messages) if known is not None else []
    found = known
    while True:
        piece = await database.read(partial(_read_piece, session_id=session_id, known=found))
        if piece is None:
            cache.invalidate(session_id)
            return History([], is_decoded=True)
        if found is None or not piece.is_continued:
            messages, found = [], CachedHistory(piece.identity, 0, [], None, 0)
        if piece.last_seq > found.last_seq:
            messages += piece.messages
            compaction, size_bytes = piece.compaction or found.compaction, found.size_bytes + piece.size_bytes
            # A dict of its own: a concurrent load may still return the shorter history.
            facts = dict(found.prefix_cache)
            found = CachedHistory(piece.identity, piece.last_seq, messages, compaction, size_bytes, facts)
        if piece.is_last:
            break
    if found is not known:
        cache.put(session_id, found, generation)
        messages = messages.copy()
    facts = found.prefix_cache
    if any(known > len(messages) for known, _ in facts.values()):
        # A concurrent turn has found out some about more messages, its own.
        facts = {name: fact for name, fact in facts.items() if fact[0] <= len(messages)}
    return History(messages, found.compaction, piece.model, facts, is_decoded=True, planning=piece.planning)


def _read_piece(connection: Connection, session_id: str, known: CachedHistory | None) -> _Piece | None:
    session = _SELECT_SESSION.fetch_row(connection, {"which": session_id})
    if session is None:
        return None
    number, created_at, last_seq, model, planning = session
    identity = (number, created_at)
    is_continued = known is not None and known.identity == identity and known.last_seq <= last_seq
    after = known.last_seq if known is not None and is_continued else 0
    if after == last_seq:
        return _Piece(identity, model, planning, last_seq, is_continued, True, [], None, 0)
    keys = {"after": to_key(number, after), "last": to_key(number, last_seq), "limit": PIECE_RECORDS}
    with closing(_SELECT_CONVERSATION.fetch_rows(connection, keys)) as rows:
        messages, newest, seq, is_cut = _decode(rows, TextReader(connection, session_id))
    is_last = not is_cut
    compaction = None if newest is None else Compaction(newest[0], newest[1])
    size_bytes = sum(map(estimate_bytes, messages))
    reached = last_seq if is_last else seq
    return _Piece(identity, model, planning, reached, is_continued, is_last, messages, compaction, size_bytes)


def _decode(
    rows: Iterable[Sequence[Any]], texts: TextReader
) -> tuple[list[Message], tuple[Message, int] | None, int, bool]:
    """Return messages, the newest compaction, the last seq, and whether there may be more."""
    messages: list[Message] = []
    newest, seq, size = None, 0, 0
    count = 0
    for key, kind, stored, data in rows:
        count, seq = count + 1, to_seq(key)
        message = Message.from_json(texts.decode(stored))
        if kind == "message":
            messages.append(message)
        else:
            newest = (message, int(data["covers"]))
        size += sys.getsizeof(message.content)
        if size >= PIECE_BYTES or count == PIECE_RECORDS:
            return messages, newest, seq, True
    return messages, newest, seq, False
