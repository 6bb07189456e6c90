"""Budget reservations in SQL: create, close, release; release stale ones of dead processes.

The table `spending` holds usage plus open reservations. A row of `reservations` stores each reservation and the process
that made it, so that another process can release it. A reservation is stale when it is older than an hour (it lasts for
one attempt), or when its process has died: a killed process can neither settle nor release. PostgreSQL knows the live
processes of all machines (`process_locks`); with a file those of this machine are asked for. Stale reservations are
released when the store is opened and before a reservation is refused.
"""

import os
import platform
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from typing import Any, Literal

from sqlalchemy import Connection, Row, bindparam, delete, insert, select

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.stores.sql.prepared_statement import PreparedStatement, prepare_upsert
from sophon.stores.sql.process_locks import current_process_id, is_process_known
from sophon.stores.sql.schema import reservations, spending
from sophon.stores.usage.contract import (
    PayerLimits,
    Period,
    ProviderLimits,
    Reservation,
    Spending,
    list_accounts,
    payer_account,
)

MAX_RESERVATION_AGE = timedelta(hours=1)
NO_LIMIT = 2**63 - 1

_INSERT = PreparedStatement(lambda _: insert(reservations))
_SELECT_AMOUNTS = PreparedStatement(
    lambda _: select(reservations.c.tokens, reservations.c.micros).where(reservations.c.id == bindparam("which"))
)
_DELETE = PreparedStatement(lambda _: delete(reservations).where(reservations.c.id == bindparam("which")))
_SELECT_SPENDING = PreparedStatement(
    lambda _: select(spending.c.amount).where(
        spending.c.provider == bindparam("provider"), spending.c.period == bindparam("period")
    )
)
_UPSERT_SPENDING = prepare_upsert(spending, ["provider", "period"], ["amount"])


@dataclass(frozen=True, slots=True)
class ReservationOwner:
    """Process that made a reservation. `process` is a random id: a restarted container has the same host and pid."""

    host: str
    pid: int
    process: str


def current_process() -> ReservationOwner:
    """Return the current process."""
    return _owner_of_pid(os.getpid())


def try_reserve(
    connection: Connection, wanted: Reservation, limits: ProviderLimits, payers: Sequence[PayerLimits], clock: Clock
) -> Literal["provider"] | PayerLimits | None:
    """Reserve tokens and cost if none passes its limit; return whose limit refuses it, None if it is reserved."""
    daily = NO_LIMIT if limits.daily_tokens is None else limits.daily_tokens
    monthly = NO_LIMIT if limits.monthly_micros is None else limits.monthly_micros
    if _add_amount(connection, wanted.provider, wanted.period.day, wanted.tokens, daily) is None:
        return "provider"
    if _add_amount(connection, wanted.provider, wanted.period.month, wanted.micros, monthly) is None:
        _add_amount(connection, wanted.provider, wanted.period.day, -wanted.tokens)
        return "provider"
    for position, payer in enumerate(payers):
        if _try_charge(connection, wanted, payer):
            continue
        add_spending(connection, wanted.provider, wanted.period, -wanted.tokens, -wanted.micros)
        for charged in payers[:position]:
            _charge(connection, _account_of(charged), wanted.period, -wanted.micros)
        return payer
    owner = current_process()
    row = {name: getattr(wanted, name) for name in ("id", "provider", "tokens", "micros", "payer", "task_type")}
    row |= {"day": wanted.period.day, "month": wanted.period.month, "at": clock.now()}
    _INSERT.execute(connection, {**row, "host": owner.host, "pid": owner.pid, "process": owner.process})
    return None


def _try_charge(connection: Connection, wanted: Reservation, payer: PayerLimits) -> bool:
    """Add the cost to the payer's account if it passes neither limit; return whether it did."""
    account, period = _account_of(payer), wanted.period
    daily = NO_LIMIT if payer.daily_micros is None else payer.daily_micros
    monthly = NO_LIMIT if payer.monthly_micros is None else payer.monthly_micros
    if _add_amount(connection, account, period.day, wanted.micros, daily) is None:
        return False
    if _add_amount(connection, account, period.month, wanted.micros, monthly) is None:
        _add_amount(connection, account, period.day, -wanted.micros)
        return False
    return True


def add_payer_cost(connection: Connection, reservation: Reservation, micros: int) -> None:
    """Add cost to the accounts of the reservation's person and task type, if any, regardless of the limits."""
    for account in list_accounts(reservation) if micros else ():
        _charge(connection, account, reservation.period, micros)


def _charge(connection: Connection, account: str, period: Period, micros: int) -> None:
    _add_amount(connection, account, period.day, micros)
    _add_amount(connection, account, period.month, micros)


def _account_of(payer: PayerLimits) -> str:
    return payer_account(payer.payer, is_task_type=payer.is_task_type)


def close_reservation(connection: Connection, reservation_id: str) -> tuple[int, int]:
    """Delete a reservation; return the tokens and micro-USD that it held, 0 if it was closed already."""
    row = _SELECT_AMOUNTS.fetch_row(connection, {"which": reservation_id})
    if row is None:
        return 0, 0
    _DELETE.execute(connection, {"which": reservation_id})
    return row[0], row[1]


def release_reservation(connection: Connection, reservation: Reservation) -> None:
    """Release a reservation without usage; does nothing if it was closed already."""
    tokens, micros = close_reservation(connection, reservation.id)
    if tokens or micros:
        add_spending(connection, reservation.provider, reservation.period, -tokens, -micros)
        add_payer_cost(connection, reservation, -micros)


def add_spending(connection: Connection, provider: str, period: Period, tokens: int, micros: int) -> Spending:
    """Add usage regardless of the limits, and return the new totals."""
    spent_tokens = _add_amount(connection, provider, period.day, tokens)
    spent_micros = _add_amount(connection, provider, period.month, micros)
    return Spending(spent_tokens or 0, spent_micros or 0)


def release_stale_reservations(connection: Connection, clock: Clock) -> int:
    """Release every stale reservation; return how many."""
    oldest, me = clock.now() - MAX_RESERVATION_AGE, current_process()
    stale = [
        row
        for row in connection.execute(select(reservations)).all()
        if row.at < oldest or _is_orphan(connection, row, me)
    ]
    for row in stale:
        period = Period(row.day, row.month)
        held = Reservation(row.id, row.provider, period, row.tokens, row.micros, row.payer, row.task_type)
        release_reservation(connection, held)
    return len(stale)


def _add_amount(connection: Connection, provider: str, period: str, amount: int, limit: int = NO_LIMIT) -> int | None:
    """Add to the period's amount and return it; None, changing nothing, if it would pass the limit."""
    key = {"provider": provider, "period": period}
    found = _SELECT_SPENDING.fetch_row(connection, key)
    total = amount + (found[0] if found is not None else 0)
    if total > limit:
        return None
    # Atomic: a write transaction has exclusive access, so nobody writes between the two statements.
    _UPSERT_SPENDING.execute(connection, {**key, "amount": total})
    return total


def _is_orphan(connection: Connection, reservation: Row[Any], me: ReservationOwner) -> bool:
    if connection.dialect.name != "sqlite":
        return reservation.process != me.process and not is_process_known(connection, reservation.process)
    if reservation.host != me.host:
        return False
    if reservation.pid == me.pid:
        return bool(reservation.process != me.process)
    return not _is_process_alive(reservation.pid)


def _is_process_alive(pid: int) -> bool:
    if os.name != "posix":
        # On Windows os.kill would terminate the process; only the age limit applies there.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@cache
def _owner_of_pid(pid: int) -> ReservationOwner:
    return ReservationOwner(platform.node(), pid, current_process_id())
