"""SQL infrastructure of the stores: SQLite in a file by default, or in memory, and PostgreSQL by URL.

The repositories are in the package of their aggregate (`sophon/stores/<aggregate>/sql.py`), composed by
`sophon.stores.sql_store.SqlStore`. Here, `database` has one `writer` thread with group commit and a pool of reader
threads, `in_memory_database` none; `schema` defines the tables, `column_types` their types, `schema_migration` runs
Alembic, which is loaded only for an outdated schema; `prepared_statement` holds compiled statements for the hot path,
`dialects` everything that differs between SQLite and PostgreSQL.

Rejected: SQLAlchemy's asyncio engine on aiosqlite. It switches to a thread and back for every statement and commits
every transaction separately (303 us per durable row). One switch per unit of work and one
commit for everything that waits cost a twentieth of it. So the drivers are the synchronous ones: sqlite3, psycopg.
"""
