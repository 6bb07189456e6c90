"""The SQL store: SQLite in a file by default, PostgreSQL by URL.

Importing it loads SQLAlchemy; Alembic is loaded only by an `open()` that finds an outdated schema. `store` composes
the nine repositories. `database` has one `writer` thread with group commit and a pool of reader threads. `schema`
defines the tables, `columns` their column types, `upgrade` the migration. `prepared` holds compiled statements for
the hot path, `dialects` everything that differs between SQLite and PostgreSQL.

Rejected: SQLAlchemy's asyncio engine on aiosqlite. It switches to a thread and back for every statement and commits
every transaction separately (303 us per durable row, reference/performance.md). One switch per unit of work and one
commit for everything that waits cost a twentieth of it. So the drivers are the synchronous ones: sqlite3, psycopg.
"""

from sophon.stores.sql.store import SqlStore

__all__ = ["SqlStore"]
