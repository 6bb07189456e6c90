"""SQL leases: a row each, whose number is the token, so that no token is ever given twice."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from sophon.clock import Clock
from sophon.stores.leases.lease import Lease, check_duration
from sophon.stores.sql.older_hosts import SchemaReplaced, check_not_replaced, describe_replacement
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import leases
from sophon.stores.sql.schema_migration import newest_version
from sophon.stores.sql.server_time import read_server_time

_COLUMNS = (leases.c.name, leases.c.holder, leases.c.until, leases.c.number, leases.c.schema_version, leases.c.details)
# Each host runs them every few seconds.
_BY_NAME = leases.c.name == bindparam("which")
_SELECT = PreparedStatement(lambda _: select(*_COLUMNS).where(_BY_NAME))
_SELECT_LIVE = PreparedStatement(
    lambda _: select(*_COLUMNS).where(leases.c.until > bindparam("now")).order_by(leases.c.name)
)
_INSERT = PreparedStatement(lambda _: insert(leases), ["name", "holder", "until", "schema_version", "details"])
_UPDATE = PreparedStatement(
    lambda _: (
        update(leases)
        .where(_BY_NAME)
        .values({name: bindparam(f"new_{name}") for name in ("until", "schema_version", "details")})
    )
)


class LeaseStore(Repository):
    """Repository of leases.

    They end by one clock for all processes: that of the database server on PostgreSQL, otherwise that of this machine.
    A holder cannot compare `until` with its own clock; it counts the seconds from before its call of `acquire`.
    """

    async def acquire(
        self, name: str, holder: str, seconds: float, details: Mapping[str, Any] | None = None
    ) -> Lease | None:
        """Acquire the lease for so many seconds from now, or renew it; None, changing nothing, if another has it.

        A holder whose lease has ended gets it again unless another took it meanwhile. `holder` must tell processes
        apart, also over restarts; `details` replace those of before. Raises ValueError if `seconds` is negative.
        """
        check_duration(seconds)
        wanted = {"name": name, "holder": holder, "details": details}
        try:
            return await self._database.write(
                partial(_acquire, wanted=wanted, duration=timedelta(seconds=seconds), clock=self._clock)
            )
        except SchemaReplaced as error:
            raise self._database.refuse_writes(describe_replacement(*error.args)) from error

    async def release(self, name: str, holder: str) -> bool:
        """End the lease, so that another can acquire it at once; return False if this holder does not have it."""
        return await self._database.write(partial(_release, name=name, holder=holder, clock=self._clock))

    async def list(self, prefix: str = "") -> list[Lease]:
        """Return the leases that have not ended and whose names begin with a prefix, by name."""
        return await self._database.read(partial(list_leases, prefix=prefix, clock=self._clock))


def list_leases(connection: Connection, prefix: str, clock: Clock) -> list[Lease]:
    """Return the leases that have not ended and whose names begin with a prefix, by name."""
    rows = _SELECT_LIVE.fetch_rows(connection, {"now": read_server_time(connection, clock)})
    # They are few, and a pattern of LIKE would give characters of the prefix a meaning.
    return [lease for row in rows if (lease := _to_lease(row)).name.startswith(prefix)]


def _acquire(connection: Connection, wanted: Mapping[str, Any], duration: timedelta, clock: Clock) -> Lease | None:
    # Hosts renew a lease every few seconds: so they notice that their version was replaced.
    check_not_replaced(connection)
    now, holder = read_server_time(connection, clock), wanted["holder"]
    until, which = now + duration, {"which": wanted["name"]}
    row = _SELECT.fetch_row(connection, which)
    found = _to_lease(row) if row is not None else None
    if found is not None and found.holder != holder and found.until > now:
        return None
    if found is None or found.holder != holder:
        # A row of a process that died stays until somebody acquires a lease anew.
        connection.execute(delete(leases).where(leases.c.until <= now))
        _INSERT.execute(connection, {**wanted, "until": until, "schema_version": newest_version()})
    else:
        new = {"new_until": until, "new_schema_version": newest_version(), "new_details": wanted["details"]}
        _UPDATE.execute(connection, {**which, **new})
    row = _SELECT.fetch_row(connection, which)
    assert row is not None
    return _to_lease(row)


def _release(connection: Connection, name: str, holder: str, clock: Clock) -> bool:
    now = read_server_time(connection, clock)
    own = (leases.c.name == name) & (leases.c.holder == holder)
    until = connection.execute(select(leases.c.until).where(own)).scalar_one_or_none()
    connection.execute(delete(leases).where(own))
    return until is not None and until > now


def _to_lease(row: Sequence[Any]) -> Lease:
    name, holder, until, token, schema, details = row
    return Lease(name, holder, until, token, schema, details or {})
