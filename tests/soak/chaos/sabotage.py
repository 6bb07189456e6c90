"""Guarantees taken out of a host, to see that a chaos run notices."""

import asyncio
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine

import sophon.stores.sql.database
import sophon_hosting.store.runs.sql_transactions
import sophon_hosting.store.runs.transitions
from sophon.stores.sql.dialects import create_engine_for
from sophon_hosting.runs.lease_renewal import LeaseRenewal


def take_out(guarantee: str) -> None:
    """Take out one of `GUARANTEES` in this process, before its store is made; nothing for an empty name."""
    if guarantee:
        GUARANTEES[guarantee]()


def _without_fence() -> None:
    """An older start of a turn may write, too."""

    def accept(*_: object) -> None:
        """Find every start new enough."""

    modules: tuple[Any, ...] = (sophon_hosting.store.runs.sql_transactions, sophon_hosting.store.runs.transitions)
    for module in modules:
        module.check_start = accept


def _without_lease() -> None:
    """A lease is not renewed, however long a task takes."""

    async def renew_none(_: LeaseRenewal) -> None:
        await asyncio.Event().wait()

    renewal: Any = LeaseRenewal
    renewal.run_forever = renew_none


def _without_transaction() -> None:
    """Each statement is committed on its own."""

    def create_autocommit(url: Any, mode: Any, seconds: float) -> Engine:
        engine = create_engine_for(url, mode, seconds)
        return engine.execution_options(isolation_level="AUTOCOMMIT") if mode == "write" else engine

    module: Any = sophon.stores.sql.database
    module.create_engine_for = create_autocommit


GUARANTEES: dict[str, Callable[[], None]] = {
    "fence": _without_fence,
    "lease": _without_lease,
    "transaction": _without_transaction,
}
