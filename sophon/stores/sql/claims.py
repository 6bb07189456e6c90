"""Claims on a budget that are open: taken, given back, and dropped when whoever took them is gone.

`spending` holds what is used and claimed; a row of `claims` remembers each claim, and who made it, so that it can be
given back in their stead. A claim is stale when it is older than an hour (a claim lasts for one attempt at a model), or
when the process that made it no longer runs on this machine: killed, it can neither settle nor release. Stale claims
are dropped when the store is opened and before a claim is refused.
"""

import os
import platform
import secrets
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select
from sqlalchemy.sql.dml import UpdateBase

from sophon.clock import Clock
from sophon.stores.contracts import Limits, Period, Reservation, Spent
from sophon.stores.sql.dialects import insert_into
from sophon.stores.sql.prepared import Prepared
from sophon.stores.sql.schema import claims, spending

OLDEST_CLAIM = timedelta(hours=1)
NO_LIMIT = 2**63 - 1

_BEGIN = Prepared(lambda _: insert(claims))
_OPEN = Prepared(lambda _: select(claims.c.tokens, claims.c.micros).where(claims.c.id == bindparam("which")))
_END = Prepared(lambda _: delete(claims).where(claims.c.id == bindparam("which")))
_SPENT = Prepared(
    lambda _: select(spending.c.amount).where(
        spending.c.provider == bindparam("provider"), spending.c.period == bindparam("period")
    )
)


@dataclass(frozen=True, slots=True)
class Claimant:
    """A process; `process` is drawn once in its life, because a restarted container has the same host and pid."""

    host: str
    pid: int
    process: str


def this_process() -> Claimant:
    """The process that asks."""
    return _claimant(os.getpid())


def take(connection: Connection, claim: Reservation, limits: Limits, clock: Clock) -> bool:
    """Claim tokens and cost, if neither passes its limit with it."""
    daily = NO_LIMIT if limits.daily_tokens is None else limits.daily_tokens
    monthly = NO_LIMIT if limits.monthly_micros is None else limits.monthly_micros
    if _raise(connection, claim.provider, claim.period.day, claim.tokens, daily) is None:
        return False
    if _raise(connection, claim.provider, claim.period.month, claim.micros, monthly) is None:
        _raise(connection, claim.provider, claim.period.day, -claim.tokens)
        return False
    me = this_process()
    _BEGIN.run(
        connection,
        {
            "id": claim.id,
            "provider": claim.provider,
            "day": claim.period.day,
            "month": claim.period.month,
            "tokens": claim.tokens,
            "micros": claim.micros,
            "at": clock.now(),
            "host": me.host,
            "pid": me.pid,
            "process": me.process,
        },
    )
    return True


def end(connection: Connection, claim_id: str) -> tuple[int, int]:
    """Take a claim off the list, and give the tokens and micro-USD to be given back; 0 if it has ended already."""
    claim = _OPEN.row(connection, {"which": claim_id})
    if claim is None:
        return 0, 0
    _END.run(connection, {"which": claim_id})
    return claim[0], claim[1]


def give_back(connection: Connection, claim_id: str, provider: str, period: Period) -> None:
    """End a claim with nothing used; one that has ended already is left alone."""
    tokens, micros = end(connection, claim_id)
    if tokens or micros:
        charge(connection, provider, period, -tokens, -micros)


def charge(connection: Connection, provider: str, period: Period, tokens: int, micros: int) -> Spent:
    """Add to what is spent, whatever the limits, and give the new state."""
    spent_tokens = _raise(connection, provider, period.day, tokens)
    spent_micros = _raise(connection, provider, period.month, micros)
    return Spent(spent_tokens or 0, spent_micros or 0)


def drop_stale(connection: Connection, clock: Clock) -> int:
    """Give back every stale claim; how many there were."""
    oldest, me = clock.now() - OLDEST_CLAIM, this_process()
    stale = [row for row in connection.execute(select(claims)).all() if row.at < oldest or _is_orphan(row, me)]
    for row in stale:
        give_back(connection, row.id, row.provider, Period(row.day, row.month))
    return len(stale)


def _raise(connection: Connection, provider: str, period: str, amount: int, limit: int = NO_LIMIT) -> int | None:
    """The new amount of the period, or None and no change if it would pass the limit."""
    key = {"provider": provider, "period": period}
    found = _SPENT.row(connection, key)
    total = amount + (found[0] if found is not None else 0)
    if total > limit:
        return None
    # Nobody else writes between the two: a write transaction has the database to itself.
    _SET.run(connection, {**key, "amount": total})
    return total


def _setting(dialect: str) -> UpdateBase:
    put = insert_into(dialect, spending)
    key = [spending.c.provider, spending.c.period]
    return put.on_conflict_do_update(index_elements=key, set_={"amount": put.excluded.amount})


def _is_orphan(claim: Row[Any], me: Claimant) -> bool:
    if claim.host != me.host:
        return False
    if claim.pid == me.pid:
        return bool(claim.process != me.process)
    return not _runs(claim.pid)


def _runs(pid: int) -> bool:
    if os.name != "posix":
        # There os.kill would end the process instead of asking for it; the hour has to do.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@cache
def _claimant(pid: int) -> Claimant:
    return Claimant(platform.node(), pid, secrets.token_hex(8))


_SET = Prepared(_setting)
