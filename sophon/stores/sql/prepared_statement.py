"""Prepared statements for the hot path: compiled once per dialect, then passed to the driver as text.

SQLAlchemy spends 50 to 60 us on executing a statement that SQLite runs in 5. Statements that run for every message,
every attempt and every tool call use this path; all others use SQLAlchemy as usual.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeAlias

from sqlalchemy import ClauseElement, Connection, Dialect, Select, Table
from sqlalchemy.sql.compiler import SQLCompiler

from sophon.stores.sql.dialects import build_insert

_Binder: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""Converts named values to the parameters of the driver."""

_Converter: TypeAlias = Callable[[Any], Any]
_Compiled: TypeAlias = tuple[str, _Binder, Sequence[_Converter | None]]
"""SQL text, parameter binder, and converters of the result columns; none if the driver's values stay as they are."""


class PreparedStatement:
    """A statement with named parameters, built per dialect by `build`; constants in it stay what they are.

    `columns` are the columns that an INSERT sets; default: all. The values of parameters and of the columns of a Select
    are converted by their column types.
    """

    def __init__(self, build: Callable[[str], ClauseElement], columns: Sequence[str] | None = None) -> None:
        self._build = build
        self._columns = columns
        self._compiled: dict[str, _Compiled] = {}

    def execute(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute it; return the number of affected rows."""
        text, bind, _ = self._compiled.get(connection.dialect.name) or self._compile(connection.dialect)
        with closing(connection.connection.cursor()) as cursor:
            cursor.execute(text, bind(values))
            return cursor.rowcount

    def execute_many(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute it once per row."""
        text, bind, _ = self._compiled.get(connection.dialect.name) or self._compile(connection.dialect)
        with closing(connection.connection.cursor()) as cursor:
            cursor.executemany(text, [bind(values) for values in rows])

    def fetch_row(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any] | None:
        """Execute a SELECT; return its first row, or None."""
        with closing(self.fetch_rows(connection, values)) as rows:
            return next(rows, None)

    def fetch_rows(self, connection: Connection, values: Mapping[str, Any]) -> Generator[Sequence[Any]]:
        """Execute a SELECT; yield its rows. The caller must exhaust or close it."""
        text, bind, converters = self._compiled.get(connection.dialect.name) or self._compile(connection.dialect)
        with closing(connection.connection.cursor()) as cursor:
            cursor.execute(text, bind(values))
            while (row := cursor.fetchone()) is not None:
                if converters:
                    converted = zip(converters, row, strict=True)
                    row = [convert(value) if convert is not None else value for convert, value in converted]
                yield row

    def _compile(self, dialect: Dialect) -> _Compiled:
        statement = self._build(dialect.name)
        compiled = statement.compile(dialect=dialect, column_keys=self._columns)
        assert isinstance(compiled, SQLCompiler)
        columns = statement.selected_columns if isinstance(statement, Select) else ()
        converters = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in columns]
        own = converters if any(converters) else ()
        found = self._compiled[dialect.name] = (str(compiled), _build_binder(compiled, dialect), own)
        return found


def prepare_upsert(table: Table, key: Sequence[str], changed: Sequence[str]) -> PreparedStatement:
    """Return an INSERT that sets the columns `key` and `changed`; of a row that has the key, `changed` only."""

    def build(dialect: str) -> ClauseElement:
        put = build_insert(dialect, table)
        return put.on_conflict_do_update(index_elements=key, set_={name: put.excluded[name] for name in changed})

    return PreparedStatement(build, [*key, *changed])


def _build_binder(compiled: SQLCompiler, dialect: Dialect) -> _Binder:
    names = list(compiled.positiontup) if compiled.positiontup is not None else list(compiled.binds)
    parameters = [(name, compiled.binds[name]) for name in names]
    converters = [
        (name, each.key, each.type.dialect_impl(dialect).bind_processor(dialect)) for name, each in parameters
    ]
    constants = {each.key: each.value for _, each in parameters if not each.required and each.value is not None}

    def bind_positional(values: Mapping[str, Any]) -> list[Any]:
        given = {**constants, **values} if constants else values
        return [convert(given[key]) if convert is not None else given[key] for _, key, convert in converters]

    def bind_named(values: Mapping[str, Any]) -> dict[str, Any]:
        given = {**constants, **values} if constants else values
        return {name: convert(given[key]) if convert is not None else given[key] for name, key, convert in converters}

    return bind_positional if compiled.positiontup is not None else bind_named
