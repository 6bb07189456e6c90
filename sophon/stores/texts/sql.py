"""SQL text store: a row per large text of a session; other rows refer to it.

A JSON column whose value has large texts holds the value without them and the references (`SplitJson`). Texts that
nothing refers to any more are found when events are dropped: by a scan of the rows of that session.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Text,
    bindparam,
    delete,
    func,
    insert,
    literal,
    literal_column,
    select,
    type_coerce,
)

from sophon.errors import NotFound
from sophon.stores.sql.column_types import (
    MAX_ESCAPED_CHARACTERS,
    SPLIT_PREFIX,
    EncodedJson,
    SafeText,
    SplitJson,
    belongs_to,
    dump_json,
    dump_split_json,
)
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import records, sessions, texts
from sophon.stores.texts.large_text import HEAD_CHARACTERS, LARGE_TEXT_BYTES
from sophon.stores.texts.references import TextReference, cut_texts, put_back_texts, split_into_parts, take_out_texts

_SELECT_NUMBER = PreparedStatement(lambda _: select(sessions.c.number).where(sessions.c.id == bindparam("which")))
_SELECT_TEXT = PreparedStatement(
    lambda _: select(texts.c.text, texts.c.parts).where(
        texts.c.session == bindparam("session"), texts.c.id == bindparam("which")
    )
)
# Literals, because a prepared statement is given its own parameters only.
_FIRST: ColumnElement[int] = literal_column("1", type_=Integer())
_STORED_HEAD_CHARACTERS: ColumnElement[int] = literal_column(
    str(HEAD_CHARACTERS * MAX_ESCAPED_CHARACTERS), type_=Integer()
)
_SELECT_HEAD = PreparedStatement(
    lambda _: select(func.substr(texts.c.text, _FIRST, _STORED_HEAD_CHARACTERS, type_=SafeText()), texts.c.parts).where(
        texts.c.session == bindparam("session"), texts.c.id == bindparam("which")
    )
)
_INSERT_TEXT = PreparedStatement(lambda dialect: build_insert(dialect, texts).on_conflict_do_nothing())
_REFERENCED_ID = re.compile(r"\b[0-9a-f]{64}\b")


class TextStore(Repository):
    """Repository of large texts, by session and text id. Texts are deleted with their session."""

    async def get(self, session_id: str, text_id: str) -> str | None:
        """Return a text; None if the session has no such text, or does not exist."""
        return await self._database.read(partial(_get, session_id=session_id, text_id=text_id))

    async def add(self, session_id: str, texts: Mapping[str, str]) -> None:
        """Add texts by id; known ones stay. Raises NotFound for an unknown session.

        A text that nothing else of the session refers to is dropped when the session's events are trimmed.
        """
        await self._database.write(partial(_add, session_id=session_id, new=dict(texts)))


class TextWriter:
    """Takes the large texts out of the JSON values that one transaction writes into one session, and inserts them.

    A text that contains texts which were inserted before is stored as references to these.
    """

    def __init__(self, connection: Connection, session_id: str) -> None:
        self._connection, self._session_id = connection, session_id
        self._number: int | None = None
        self._known: dict[str, str] = {}

    def encode(self, value: Any) -> EncodedJson | None:
        """Return the JSON of a value, with references instead of its large texts; None for None.

        A small value costs nothing more than its serialisation.
        """
        if value is None:
            return None
        encoded = dump_json(value)
        if len(encoded) * 4 < LARGE_TEXT_BYTES:
            return EncodedJson(encoded)
        rest, found = take_out_texts(value)
        if not found:
            return EncodedJson(encoded)
        for reference, text in found.items():
            self.insert(reference.id, text)
        return EncodedJson(dump_split_json(rest, [[list(each.path), each.id, each.characters] for each in found]))

    def insert(self, text_id: str, text: str) -> None:
        """Insert a text unless the session has it."""
        if text_id in self._known:
            return
        if self._number is None:
            self._number = _session_number(self._connection, self._session_id)
        parts = split_into_parts(text, self._known) if self._known else None
        row = {"session": self._number, "id": text_id, "text": None if parts else text, "parts": parts}
        _INSERT_TEXT.execute(self._connection, row)
        if parts is None:
            self._known[text_id] = text


class TextReader:
    """Puts the large texts of one session back into the JSON values that were read from it."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        self._connection, self._session_id = connection, session_id
        self._number: int | None = None

    def decode(self, value: Any) -> Any:
        """Return the value of a JSON column with its texts; a value without references is returned unchanged."""
        if not isinstance(value, SplitJson):
            return value
        return put_back_texts(value.value, [TextReference(*each) for each in value.references], self.find)

    def decode_head(self, value: Any) -> Any:
        """Return the value of a JSON column with the beginning of each large text; the database sends no more."""
        if not isinstance(value, SplitJson):
            return cut_texts(value)
        return put_back_texts(value.value, [TextReference(*each) for each in value.references], self.find_head)

    def find_head(self, text_id: str) -> str | None:
        """Return the beginning of a text; None if the session does not have it."""
        row = _SELECT_HEAD.fetch_row(self._connection, {"session": self._find_number(), "which": text_id})
        if row is None:
            return None
        text, parts = row
        if parts is None:
            return str(text)[:HEAD_CHARACTERS]
        head = ""
        for part in parts:
            piece = part if isinstance(part, str) else self.find_head(part["id"])
            if piece is None:
                return None
            head = (head + piece)[:HEAD_CHARACTERS]
            if len(head) == HEAD_CHARACTERS:
                break
        return head

    def find(self, text_id: str) -> str | None:
        """Return a text; None if the session does not have it."""
        row = _SELECT_TEXT.fetch_row(self._connection, {"session": self._find_number(), "which": text_id})
        if row is None:
            return None
        text, parts = row
        if parts is None:
            return str(text)
        pieces = [part if isinstance(part, str) else self.find(part["id"]) for part in parts]
        return "".join(piece for piece in pieces if piece is not None) if None not in pieces else None

    def _find_number(self) -> int:
        if self._number is None:
            self._number = _session_number(self._connection, self._session_id)
        return self._number


def _add(connection: Connection, session_id: str, new: Mapping[str, str]) -> None:
    _session_number(connection, session_id)
    writer = TextWriter(connection, session_id)
    for text_id, text in new.items():
        writer.insert(text_id, text)


def copy_texts(connection: Connection, source: int, target: int) -> None:
    """Copy the texts that the records of session `target` refer to, from session `source`; both are row numbers."""
    used = find_text_ids(connection, [records.c.message, records.c.data], belongs_to(records.c.key, target))
    for text_id in sorted(used | _ids_of_parts(connection, source, used)):
        same = select(literal(target), texts.c.id, texts.c.text, texts.c.parts).where(
            texts.c.session == source, texts.c.id == text_id
        )
        connection.execute(insert(texts).from_select(["session", "id", "text", "parts"], same))


def drop_unreferenced_texts(connection: Connection, session: int, find_used: Callable[[], set[str]]) -> None:
    """Delete the texts of a session, by its row number, that neither its records refer to nor what `find_used` finds.

    `find_used` is called if the session has texts.
    """
    stored = set(connection.execute(select(texts.c.id).where(texts.c.session == session)).scalars())
    if not stored:
        return
    used = find_text_ids(connection, [records.c.message, records.c.data], belongs_to(records.c.key, session))
    used |= find_used()
    used |= _ids_of_parts(connection, session, used)
    for text_id in stored - used:
        connection.execute(delete(texts).where(texts.c.session == session, texts.c.id == text_id))


def _ids_of_parts(connection: Connection, session: int, text_ids: set[str]) -> set[str]:
    """Return the ids of the texts that those texts consist of."""
    query = select(texts.c.id, texts.c.parts).where(texts.c.session == session, texts.c.parts.is_not(None))
    rows = [row for row in connection.execute(query) if row.id in text_ids]
    return {part["id"] for row in rows for part in row.parts if not isinstance(part, str)}


def find_text_ids(
    connection: Connection, columns: Sequence[Any], where: Any, like: str = f"{SPLIT_PREFIX}%"
) -> set[str]:
    """Return the ids of the texts that the values of JSON columns refer to, in rows that a condition selects."""
    found: set[str] = set()
    for column in columns:
        as_text = type_coerce(column, Text)
        for stored in connection.execute(select(as_text).where(where, as_text.like(like))).scalars():
            found.update(_REFERENCED_ID.findall(stored))
    return found


def _get(connection: Connection, session_id: str, text_id: str) -> str | None:
    if _SELECT_NUMBER.fetch_row(connection, {"which": session_id}) is None:
        return None
    return TextReader(connection, session_id).find(text_id)


def _session_number(connection: Connection, session_id: str) -> int:
    session = _SELECT_NUMBER.fetch_row(connection, {"which": session_id})
    if session is None:
        raise NotFound("session", session_id)
    return int(session[0])
