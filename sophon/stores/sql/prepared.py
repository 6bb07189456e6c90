"""Statements of the hot path: compiled once per dialect, then handed to the driver as text.

SQLAlchemy spends 50 to 60 us on executing a statement that SQLite runs in 5. What is written for every message, every
attempt at a model and every tool call goes this way instead; everything else goes the usual one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import BindParameter, ClauseElement, Connection, Dialect, Select
from sqlalchemy.sql.compiler import SQLCompiler

_Binder: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""Named values -> the parameters as the driver wants them."""

_Converter: TypeAlias = Callable[[Any], Any]
_Compiled: TypeAlias = tuple[str, _Binder, Sequence[_Converter | None]]
"""The text, what binds its parameters, and what converts the columns that it finds."""


class Prepared:
    """A statement whose values are all bound by name, made for a dialect by `build`.

    `columns` are those that an INSERT fills, all by default.
    Values are converted by the types of their columns; what a SELECT finds is so by `record`, but not by `row`.
    """

    def __init__(self, build: Callable[[str], ClauseElement], columns: Sequence[str] | None = None) -> None:
        self._build = build
        self._columns = columns
        self._texts: dict[str, _Compiled] = {}

    def run(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Run it; the number of rows that it touched."""
        text, bind, _ = self._text(connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(text, bind(values))
            return cursor.rowcount
        finally:
            cursor.close()

    def run_many(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run it once for each of the rows."""
        text, bind, _ = self._text(connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.executemany(text, [bind(values) for values in rows])
        finally:
            cursor.close()

    def row(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[int] | None:
        """Run a SELECT of numbers; the first row that it finds."""
        text, bind, _ = self._text(connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(text, bind(values))
            return cursor.fetchone()
        finally:
            cursor.close()

    def record(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any] | None:
        """Run a SELECT; the first row that it finds, its values as they went in."""
        found = self.row(connection, values)
        if found is None:
            return None
        _, _, converters = self._text(connection.dialect)
        return [
            convert(value) if convert is not None else value for convert, value in zip(converters, found, strict=True)
        ]

    def _text(self, dialect: Dialect) -> _Compiled:
        found = self._texts.get(dialect.name)
        if found is None:
            statement = self._build(dialect.name)
            compiled = statement.compile(dialect=dialect, column_keys=self._columns)
            assert isinstance(compiled, SQLCompiler)
            found = self._texts[dialect.name] = (
                str(compiled),
                _binder(compiled, dialect),
                _converters(statement, dialect),
            )
        return found


def _binder(compiled: SQLCompiler, dialect: Dialect) -> _Binder:
    names = list(compiled.positiontup) if compiled.positiontup is not None else list(compiled.binds)
    converters = [(name, *_converter(compiled.binds[name], dialect)) for name in names]

    def in_order(values: Mapping[str, Any]) -> list[Any]:
        return [convert(values[key]) if convert is not None else values[key] for _, key, convert in converters]

    def by_name(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: convert(values[key]) if convert is not None else values[key] for name, key, convert in converters}

    return in_order if compiled.positiontup is not None else by_name


def _converters(statement: ClauseElement, dialect: Dialect) -> Sequence[_Converter | None]:
    columns = statement.selected_columns if isinstance(statement, Select) else ()
    return [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]


def _converter(parameter: BindParameter[Any], dialect: Dialect) -> tuple[str, _Converter | None]:
    implementation = parameter.type.dialect_impl(dialect)
    return parameter.key, implementation.bind_processor(dialect)
