"""SQLAlchemy column types: arbitrary text, times in UTC, JSON as text; primary keys of rows numbered within a session.

Such a key has the session's number and the row's seq in one integer. SQLite stores rows in the order of the key, and
needs no index beside the table: a row that is appended changes one page instead of two. The rows of a session are a
range of keys. No foreign key can refer from such a row to its session: whoever deletes the session deletes the range.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import orjson
from sqlalchemy import Column, ColumnElement, DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import to_utc

_ESCAPE = "\x1a"
_UNSAFE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")
_STDLIB_PREFIX = " "
"""Prefix of JSON that only Python's own parser reads back exactly; orjson's output never begins with a space."""
SPLIT_PREFIX = "\t"
"""Prefix of a value without its large texts; no other JSON begins with a tab."""

KEYS_PER_PARENT = 2**32
"""Seqs of one session, 0 included; 2**31 sessions fit into a signed 64-bit integer."""


@dataclass(frozen=True, slots=True)
class EncodedJson:
    """A value that is JSON text already; `JsonText` writes it unchanged."""

    text: str


@dataclass(frozen=True, slots=True)
class SplitJson:
    """A stored value whose large texts are in rows of their own; see `sophon.stores.texts.sql.TextReader`.

    `references` are the arguments of `TextReference`.
    """

    value: Any
    references: Sequence[Any]


MAX_ESCAPED_CHARACTERS = 5
"""Characters that `SafeText` stores for one character at most."""


class SafeText(TypeDecorator[str]):
    """Text that may contain what a database rejects: NUL (PostgreSQL) and lone surrogates (both).

    Such a character is stored as U+001A and four hexadecimal digits, one by one, so that equal texts stay equal and a
    prefix stays a prefix; all other text is stored unchanged.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Escape on write."""
        return None if value is None else escape_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        """Unescape on read."""
        return None if value is None else unescape_text(value)


class UtcTime(TypeDecorator[datetime]):
    """An aware time, stored in UTC with microseconds; ValueError for a naive one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; SQLite drops the zone."""
        return None if value is None else to_utc(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Return an aware time; SQLite's naive ones are UTC."""
        if value is None:
            return None
        moment = cast(datetime, value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class JsonText(TypeDecorator[Any]):
    """JSON as text, because PostgreSQL's own JSON type rejects NUL and lone surrogates, and reorders keys."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Serialise; None is NULL."""
        if isinstance(value, EncodedJson):
            return value.text
        return None if value is None else dump_json(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        """Deserialise."""
        return None if value is None else load_json(value)


def escape_text(text: str) -> str:
    """Return the text without characters that a database rejects."""
    return _UNSAFE.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text) if _UNSAFE.search(text) else text


def unescape_text(text: str) -> str:
    """Invert `escape_text`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if _ESCAPE in text else text


def dump_json(value: Any) -> str:
    """Serialise plain data as JSON; other values are written as their `str`."""
    try:
        return orjson.dumps(value, default=_to_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        # orjson rejects lone surrogates and integers beyond 64 bits; both are valid here.
        return _STDLIB_PREFIX + json.dumps(value, default=_to_plain)


def dump_split_json(value: Any, references: Sequence[Any]) -> str:
    """Serialise a value without its large texts, and the references to them."""
    return SPLIT_PREFIX + dump_json([value, references])


def load_json(text: str) -> Any:
    """Invert `dump_json` and `dump_split_json`."""
    if text.startswith(SPLIT_PREFIX):
        value, references = load_json(text[len(SPLIT_PREFIX) :])
        return SplitJson(value, references)
    return json.loads(text) if text.startswith(_STDLIB_PREFIX) else orjson.loads(text)


def _to_plain(value: object) -> object:
    return dict(cast(Mapping[object, object], value)) if isinstance(value, Mapping) else str(value)


def to_key(parent: int, seq: int) -> int:
    """Return the key of the row `seq`, from 0 on, of a session, or of its event log, with a number."""
    if not 0 <= seq < KEYS_PER_PARENT:
        raise OverflowError(f"a session holds {KEYS_PER_PARENT - 1} rows at most, so seq {seq} has no key")
    return parent * KEYS_PER_PARENT + seq


def to_seq(key: int) -> int:
    """Return the seq in a key."""
    return key % KEYS_PER_PARENT


def belongs_to(key: Column[int], parent: int, after: int = 0, up_to: int = KEYS_PER_PARENT - 1) -> ColumnElement[bool]:
    """Return the condition for the rows of a parent whose seq is larger than `after` and at most `up_to`."""
    first, last = (max(0, min(seq, KEYS_PER_PARENT - 1)) for seq in (after, up_to))
    return (key > to_key(parent, first)) & (key <= to_key(parent, last))
