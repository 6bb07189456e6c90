"""Page of the session list in SQL: the rows of the page are read by an index, however many sessions there are."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, func, not_, or_, select, tuple_

from sophon.stores.sessions.contract import SUMMARY_FIELDS, SessionKind, SessionPage, SessionSummary
from sophon.stores.sessions.paging import encode_cursor, matches_words, to_like_pattern
from sophon.stores.sql.column_types import SafeText
from sophon.stores.sql.schema import sessions

NEWEST_FIRST = (sessions.c.updated_at.desc(), sessions.c.number.desc())

_MAX_ROW_NUMBER = 2**63 - 1


def select_page(
    connection: Connection,
    owner: str | None,
    words: Sequence[str],
    limit: int,
    offset: int,
    after: tuple[datetime, str] | None,
    kind: SessionKind | None = None,
) -> SessionPage:
    """Return a page of sessions; `after` is a decoded cursor."""
    is_match = [_contains(word) for word in words]
    if kind is not None:
        is_match.append(sessions.c.archived.is_(kind == "archived"))
    if kind == "pinned":
        is_match.append(sessions.c.pinned)
    if owner is not None:
        is_match.append(sessions.c.owner == owner)
    if words:
        matching = _find_matches(connection, is_match, words)
        total, following = len(matching), matching
        if after is not None:
            position = after[0], _number_of(connection, after[1])
            following = [row for row in matching if (row.updated_at, row.number) < position]
        rows = following[offset : offset + limit + 1]
    else:
        # Of all sessions the hidden ones are subtracted: a count of all reads an index only, and few are branches.
        total = _count(connection, is_match) - _count(connection, [*is_match, _is_hidden()])
        query = select(sessions).where(*is_match, _is_shown()).order_by(*NEWEST_FIRST).limit(limit + 1).offset(offset)
        if after is not None:
            last = tuple_(after[0], _number_of(connection, after[1]), types=_POSITION_TYPES)
            query = query.where(tuple_(sessions.c.updated_at, sessions.c.number) < last)
        rows = connection.execute(query).all()
    items = [summary_from_row(row) for row in rows[:limit]]
    more = bool(items) and len(rows) > limit
    return SessionPage(items, total, encode_cursor(items[-1].updated_at, items[-1].id) if more else None)


def summary_from_row(row: Row[Any]) -> SessionSummary:
    """Return the listing entry of a session's row."""
    return SessionSummary(id=row.id, message_count=row.said, **{name: getattr(row, name) for name in SUMMARY_FIELDS})


_POSITION_TYPES = (sessions.c.updated_at.type, sessions.c.number.type)


def _find_matches(
    connection: Connection, is_match: Sequence[ColumnElement[bool]], words: Sequence[str]
) -> Sequence[Row[Any]]:
    """Return the sessions that contain the words; the database finds some more, because it knows fewer letters."""
    rows = connection.execute(select(sessions).where(*is_match, _is_shown()).order_by(*NEWEST_FIRST))
    return [row for row in rows if matches_words(words, row.title or row.provisional_title, row.id)]


def _count(connection: Connection, is_match: Sequence[ColumnElement[bool]]) -> int:
    return int(connection.execute(select(func.count()).select_from(sessions).where(*is_match)).scalar_one())


def _is_shown() -> ColumnElement[bool]:
    """Return the condition for a session that no branch of the same conversation was changed after."""
    return or_(sessions.c.family.is_(None), not_(_is_hidden()))


def _is_hidden() -> ColumnElement[bool]:
    """Return the condition for a session that a branch of the same conversation was changed after."""
    other = sessions.alias()
    # An expression, so that SQLite does not read all later sessions of the owner instead of the few of the family.
    is_branch = (other.c.family == sessions.c.family) & (func.coalesce(other.c.owner, "") == sessions.c.owner)
    is_later = or_(
        other.c.updated_at > sessions.c.updated_at,
        and_(other.c.updated_at == sessions.c.updated_at, other.c.number > sessions.c.number),
    )
    return and_(sessions.c.family.is_not(None), exists().where(is_branch, is_later))


def _contains(word: str) -> ColumnElement[bool]:
    pattern = to_like_pattern(word)
    columns = (
        func.lower(column, type_=SafeText())
        for column in (sessions.c.title, sessions.c.provisional_title, sessions.c.id)
    )
    return or_(*(column.like(pattern, escape="\\") for column in columns))


def _number_of(connection: Connection, session_id: str) -> int:
    """Return the row number of the last session of a page; of one that was deleted, one after all others."""
    number = connection.execute(select(sessions.c.number).where(sessions.c.id == session_id)).scalar_one_or_none()
    return _MAX_ROW_NUMBER if number is None else int(number)
