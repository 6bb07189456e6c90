"""Prepared statements for the hot path: compiled once per dialect, then passed to the driver as text.

SQLAlchemy spends 50 to 60 us on executing a statement that SQLite runs in 5. Statements that run for every message,
every attempt and every tool call use this path; all others use SQLAlchemy as usual.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import BindParameter, ClauseElement, Connection, Dialect, Select, Table
from sqlalchemy.sql.compiler import SQLCompiler

from sophon.stores.sql.dialects import build_insert

_Binder: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""Converts named values to the parameters of the driver."""

_Converter: TypeAlias = Callable[[Any], Any]
_Compiled: TypeAlias = tuple[str, _Binder, Sequence[_Converter | None]]
"""SQL text, parameter binder, and converters of the result columns."""


class PreparedStatement:
    """A statement with named parameters only, built per dialect by `build`.

    `columns` are the columns that an INSERT sets; default: all. Parameter values are converted by their column types;
    result values are converted by `fetch_record` but not by `fetch_row`.
    """

    def __init__(self, build: Callable[[str], ClauseElement], columns: Sequence[str] | None = None) -> None:
        self._build = build
        self._columns = columns
        self._compiled: dict[str, _Compiled] = {}

    def execute(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute it; return the number of affected rows."""
        text, bind, _ = self._compile(connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(text, bind(values))
            return cursor.rowcount
        finally:
            cursor.close()

    def execute_many(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute it once per row."""
        text, bind, _ = self._compile(connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.executemany(text, [bind(values) for values in rows])
        finally:
            cursor.close()

    def fetch_row(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[int] | None:
        """Execute a SELECT of numbers; return the first row, or None."""
        text, bind, _ = self._compile(connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(text, bind(values))
            return cursor.fetchone()
        finally:
            cursor.close()

    def fetch_rows(self, connection: Connection, values: Mapping[str, Any]) -> list[Sequence[Any]]:
        """Execute a SELECT; return its rows as the driver has them."""
        text, bind, _ = self._compile(connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(text, bind(values))
            return list(cursor.fetchall())
        finally:
            cursor.close()

    def fetch_records(self, connection: Connection, values: Mapping[str, Any]) -> Generator[list[Any]]:
        """Execute a SELECT; yield its rows with their values converted. The caller must exhaust or close it."""
        text, bind, converters = self._compile(connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(text, bind(values))
            while (row := cursor.fetchone()) is not None:
                yield _convert(converters, row)
        finally:
            cursor.close()

    def fetch_record(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any] | None:
        """Execute a SELECT; return the first row with its values converted, or None."""
        found = self.fetch_row(connection, values)
        if found is None:
            return None
        _, _, converters = self._compile(connection.dialect)
        return _convert(converters, found)

    def _compile(self, dialect: Dialect) -> _Compiled:
        found = self._compiled.get(dialect.name)
        if found is None:
            statement = self._build(dialect.name)
            compiled = statement.compile(dialect=dialect, column_keys=self._columns)
            assert isinstance(compiled, SQLCompiler)
            found = self._compiled[dialect.name] = (
                str(compiled),
                _build_binder(compiled, dialect),
                _result_converters(statement, dialect),
            )
        return found


def prepare_upsert(table: Table, key: Sequence[str], changed: Sequence[str]) -> PreparedStatement:
    """Return an INSERT that sets the columns `key` and `changed`; of a row that has the key, `changed` only."""

    def build(dialect: str) -> ClauseElement:
        put = build_insert(dialect, table)
        return put.on_conflict_do_update(index_elements=key, set_={name: put.excluded[name] for name in changed})

    return PreparedStatement(build, [*key, *changed])


def _convert(converters: Sequence[_Converter | None], row: Sequence[Any]) -> list[Any]:
    return [convert(value) if convert is not None else value for convert, value in zip(converters, row, strict=True)]


def _build_binder(compiled: SQLCompiler, dialect: Dialect) -> _Binder:
    names = list(compiled.positiontup) if compiled.positiontup is not None else list(compiled.binds)
    converters = [(name, *_parameter_converter(compiled.binds[name], dialect)) for name in names]

    def bind_positional(values: Mapping[str, Any]) -> list[Any]:
        return [convert(values[key]) if convert is not None else values[key] for _, key, convert in converters]

    def bind_named(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: convert(values[key]) if convert is not None else values[key] for name, key, convert in converters}

    return bind_positional if compiled.positiontup is not None else bind_named


def _result_converters(statement: ClauseElement, dialect: Dialect) -> Sequence[_Converter | None]:
    columns = statement.selected_columns if isinstance(statement, Select) else ()
    return [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]


def _parameter_converter(parameter: BindParameter[Any], dialect: Dialect) -> tuple[str, _Converter | None]:
    implementation = parameter.type.dialect_impl(dialect)
    return parameter.key, implementation.bind_processor(dialect)
