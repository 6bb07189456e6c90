"""The schemas of all versions as SQL, from which tests make databases to migrate: `schemas/VERSION.ENGINE.sql`.

`python -m tests.sophon.stores.sql.known_schemas` writes that of the newest version.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import create_mock_engine
from sqlalchemy.schema import sort_tables

from sophon.stores.sql.schema_migration import create_tables, newest_version
from sophon_hosting.store.sql_host_store import SqlHostStore

ENGINES = {"sqlite": "sqlite://", "postgresql": "postgresql+psycopg://"}


def file_of(version: str, engine: str) -> Path:
    return Path(__file__).parent / "schemas" / f"{version}.{engine}.sql"


def read_statements(version: str, engine: str) -> list[str]:
    return file_of(version, engine).read_text().split(";\n")[:-1]


def render_schema(engine: str) -> str:
    """Return the statements that make the newest schema. Pure."""
    statements: list[str] = []

    def note(statement: Any, *_: Any) -> None:
        lines = str(statement.compile(dialect=mock.dialect)).replace("\t", "    ").strip().splitlines()
        statements.append("\n".join(line.rstrip() for line in lines if line.strip()))

    mock = create_mock_engine(ENGINES[engine], note)
    for table in sort_tables(sorted(SqlHostStore("memory://").tables, key=lambda each: each.name)):
        create_tables(mock, [table])
    # A table has its indexes in no order.
    tables = [each for each in statements if each.startswith("CREATE TABLE")]
    return "".join(f"{each};\n" for each in (*tables, *sorted(set(statements).difference(tables))))


if __name__ == "__main__":
    for name in ENGINES:
        file_of(newest_version(), name).write_text(render_schema(name))
