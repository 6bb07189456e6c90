"""Checks of `sophon doctor` on a PostgreSQL: version, connections, durability, clock, vacuum, waiting locks."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from importlib import import_module
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.programs.doctor.backend_findings import CONNECT_SECONDS, check_skew
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning

NAME = "postgresql"

MIN_VERSION = 140_000
"""Oldest version that this is tested with, as `server_version_num`; 15 is what the tests run on."""

LONG_LOCK_SECONDS = 5
"""Seconds that somebody waits for a lock from which on it is told: the host gives up after that."""

DURABILITY_FIX = "set it to on: otherwise a crash of the server loses, or damages, what the host has acknowledged"
CONNECTIONS_FIX = "raise max_connections, run fewer processes, or put a pooler in session mode in between"

_QUERY = """
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_version') AS version_name,
       current_setting('max_connections')::int
           - current_setting('superuser_reserved_connections')::int AS max_connections,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       current_setting('autovacuum') AS autovacuum,
       current_setting('server_encoding') AS encoding,
       current_setting('transaction_read_only') AS read_only,
       (SELECT count(*) FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND state_change < clock_timestamp() - make_interval(secs => %s)) AS lock_waits,
       clock_timestamp() AS now
"""


@dataclass(frozen=True, slots=True)
class PostgresFacts:
    """What a server says of itself. `skew_seconds` is how far its clock is ahead of this machine's."""

    version: int
    version_name: str
    max_connections: int
    connections: int
    synchronous_commit: str
    fsync: str
    full_page_writes: str
    autovacuum: str
    encoding: str
    read_only: str
    lock_waits: int
    skew_seconds: float


def read_facts(url: str) -> PostgresFacts:
    """Return the facts of a server. Blocks; raises the errors of the client library."""
    psycopg: Any = import_module("psycopg")  # lazy: only who uses PostgreSQL has it
    dict_row = import_module("psycopg.rows").dict_row
    plain = "postgresql://" + url.partition("://")[2]
    connection = psycopg.connect(plain, connect_timeout=int(CONNECT_SECONDS), row_factory=dict_row)
    with closing(connection):
        before = time.time()
        row: dict[str, Any] = connection.execute(_QUERY, (LONG_LOCK_SECONDS,)).fetchone()
        middle = (before + time.time()) / 2
    now: datetime = row.pop("now")
    return PostgresFacts(**row, skew_seconds=now.timestamp() - middle)


def judge_postgresql(
    facts: PostgresFacts, name: str, connections_per_process: int, processes: int
) -> Iterator[DoctorFinding]:
    """Yield the findings of a server's facts; the first one is what it is. Pure."""
    text = f"PostgreSQL {facts.version_name} at {name}, {facts.connections} of {facts.max_connections} connections used"
    if facts.version < MIN_VERSION:
        yield failed(NAME, text, f"update the server to {MIN_VERSION // 10_000} or newer")
    else:
        yield ok(NAME, text)
    needed = connections_per_process * processes
    if needed > facts.max_connections:
        text = f"{processes} processes use up to {needed} connections, and the server has {facts.max_connections}"
        yield failed(NAME, text, CONNECTIONS_FIX)
    elif facts.connections + connections_per_process > facts.max_connections:
        text = f"one more process uses up to {connections_per_process} connections, and fewer than that are free"
        yield warning(NAME, text, CONNECTIONS_FIX)
    for setting in ("fsync", "full_page_writes", "synchronous_commit"):
        if getattr(facts, setting) == "off":
            yield warning(NAME, f"{setting} is off", DURABILITY_FIX)
    if facts.read_only == "on":
        yield failed(NAME, "the server, or this user, may only read", "give the address of the primary server")
    if facts.autovacuum == "off":
        fix = "set it to on: otherwise the tables keep growing, whatever Retention says"
        yield warning(NAME, "autovacuum is off", fix)
    if facts.encoding != "UTF8":
        fix = "make a database with ENCODING 'UTF8': in another one messages with other characters cannot be stored"
        yield failed(NAME, f"the encoding of the database is {facts.encoding}", fix)
    if facts.lock_waits:
        text = f"{facts.lock_waits} connections have waited for a lock for more than {LONG_LOCK_SECONDS} s"
        yield warning(NAME, text, "find who holds it: SELECT pid, pg_blocking_pids(pid), query ...")
    yield from check_skew(NAME, facts.skew_seconds)
