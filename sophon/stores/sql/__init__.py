"""A store in SQL: SQLite in a file by default, PostgreSQL by URL.

Importing it loads SQLAlchemy; Alembic is loaded only by an `open()` that finds the schema behind. The files, from the
outside in: `store` ties the eight rooms together (`sessions`, `usage` with its `claims`, `approvals`, `journal`,
`entries`, `runs` with its `run_rows`, `outbound`, `events`); `database` has one `writer` with group commit and a pool
of readers; `schema`, `columns` and `upgrade` say what the tables are; `prepared` holds the statements of the hot path,
`dialects` all that is not the same in SQLite and PostgreSQL.

Rejected: SQLAlchemy's asyncio engine on aiosqlite. It hops to a thread and back for every statement and gives every
transaction a commit of its own (303 us a durable row, reference/performance.md), where one hop for a whole unit of work
and one commit for all that waits cost a twentieth of it. The drivers are therefore the plain ones: sqlite3, psycopg.
"""

from sophon.stores.sql.store import SqlStore

__all__ = ["SqlStore"]
