"""How Python values lie in columns: any text whatever, times in UTC, JSON."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import orjson
from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator

_ESCAPE = "\x1a"
_UNSAFE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")
_PATIENT = " "
"""Stands before JSON that only Python's own parser reads back exactly; orjson never begins with a space."""


class SafeText(TypeDecorator[str]):
    """Text that may hold what a database refuses: NUL (PostgreSQL) and lone surrogates (both).

    Such a character is written as U+001A and four hexadecimal digits, character by character, so that equal texts stay
    equal and a prefix stays a prefix; all other text lies there as it is.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Escape on the way in."""
        return None if value is None else escaped(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        """Unescape on the way out."""
        return None if value is None else unescaped(value)


class UtcTime(TypeDecorator[datetime]):
    """An aware time, kept in UTC with microseconds; ValueError for a naive one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Into UTC; SQLite then drops the zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; give an aware time")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Give SQLite's times their zone back."""
        if value is None:
            return None
        moment = cast(datetime, value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Json(TypeDecorator[Any]):
    """JSON as text: PostgreSQL's own JSON type refuses NUL and lone surrogates, and reorders keys."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """As text; None is NULL."""
        return None if value is None else dump_json(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        """As plain data."""
        return None if value is None else load_json(value)


def escaped(text: str) -> str:
    """The text without characters that a database refuses."""
    return _UNSAFE.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text) if _UNSAFE.search(text) else text


def unescaped(text: str) -> str:
    """The inverse of `escaped`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if _ESCAPE in text else text


def dump_json(value: Any) -> str:
    """Plain data as JSON; what is no plain data is written as its `str`."""
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        # orjson refuses lone surrogates and integers beyond 64 bits; both are in order here.
        return _PATIENT + json.dumps(value, default=_plain)


def load_json(text: str) -> Any:
    """The inverse of `dump_json`."""
    return json.loads(text) if text.startswith(_PATIENT) else orjson.loads(text)


def _plain(value: object) -> object:
    return dict(cast(Mapping[object, object], value)) if isinstance(value, Mapping) else str(value)
