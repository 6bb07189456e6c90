"""Store of conversations off the record: in memory, except for usage without names, and memories that are only read."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sophon.clock import Clock
from sophon.errors import InputError, StoreError
from sophon.failure_log import log_failure
from sophon.messages import Usage
from sophon.stores.memories.contract import MemoryEntry, MemoryReader, MemoryStore
from sophon.stores.usage.contract import (
    PayerLimits,
    PayerSpending,
    Period,
    ProviderLimits,
    Reservation,
    Spending,
    UsageRow,
    UsageStore,
    UsageTotal,
)
from sophon.stores.vectors.contract import VectorRow
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.sql_host_store import SqlHostStore

log = logging.getLogger("sophon")

NO_SESSION = "off the record"
"""Session and run of the usage that is stored: it counts in budgets and totals, and names no conversation."""


def build_off_the_record_store(durable: HostStore, clock: Clock) -> SqlHostStore:
    """Return a store in memory that shares the usage and, to read, the memories of the host's store."""
    return SqlHostStore(
        "memory://",
        clock=clock,
        usage=NamelessUsage(durable.usage),
        memories=ReadOnlyMemories(durable.memories),
        preferences=durable.preferences,
    )


class NamelessUsage:
    """Usage store whose rows have `name` in place of session and run; see `UsageStore`. Budgets hold for the host as
    a whole.
    """

    def __init__(self, usage: UsageStore, name: str = NO_SESSION) -> None:
        self._usage, self._name = usage, name

    async def reserve(
        self,
        provider: str,
        period: Period,
        worst_case: Usage,
        limits: ProviderLimits,
        payer: PayerLimits | None = None,
        task: PayerLimits | None = None,
    ) -> Reservation | Spending | PayerSpending:
        """See `UsageStore.reserve`."""
        return await self._usage.reserve(provider, period, worst_case, limits, payer, task)

    async def settle(self, reservation: Reservation | None, row: UsageRow) -> Spending:
        """See `UsageStore.settle`."""
        return await self._usage.settle(reservation, self._rename(row))

    async def release(self, reservation: Reservation) -> None:
        """See `UsageStore.release`."""
        await self._usage.release(reservation)

    async def record(self, rows: Sequence[UsageRow]) -> None:
        """See `UsageStore.record`. An unavailable store loses the rows: the outcome of the run does not wait for it."""
        if not rows:
            return
        try:
            await self._usage.record([self._rename(row) for row in rows])
        except StoreError as error:
            log_failure(log, error, "the usage of a turn (%s) was not stored", self._name)

    async def get_spending(self, provider: str, period: Period) -> Spending:
        """See `UsageStore.get_spending`."""
        return await self._usage.get_spending(provider, period)

    async def get_reserved(self, provider: str, period: Period) -> Spending:
        """See `UsageStore.get_reserved`."""
        return await self._usage.get_reserved(provider, period)

    async def get_payer_spending(self, payer: str, period: Period, *, is_task_type: bool = False) -> PayerSpending:
        """See `UsageStore.get_payer_spending`. A person's limits hold for both kinds of conversations together."""
        return await self._usage.get_payer_spending(payer, period, is_task_type=is_task_type)

    async def get_payer_reserved(self, payer: str, period: Period, *, is_task_type: bool = False) -> PayerSpending:
        """See `UsageStore.get_payer_reserved`."""
        return await self._usage.get_payer_reserved(payer, period, is_task_type=is_task_type)

    async def mark_alerted(self, provider: str, period: str, name: str) -> bool:
        """See `UsageStore.mark_alerted`."""
        return await self._usage.mark_alerted(provider, period, name)

    async def reserved(self) -> int:
        """See `UsageStore.reserved`."""
        return await self._usage.reserved()

    async def list_totals(self, *, since: str = "", session_id: str | None = None) -> list[UsageTotal]:
        """See `UsageStore.list_totals`; nothing is known of single sessions."""
        return [] if session_id is not None else await self._usage.list_totals(since=since)

    async def expire(self, before: str) -> int:
        """Do nothing: the host's retention deletes old usage."""
        return 0

    async def expire_accounts(self, before: str) -> int:
        """Do nothing: the host's retention deletes old sums."""
        return 0

    def _rename(self, row: UsageRow) -> UsageRow:
        return replace(row, session_id=self._name, run_id=self._name)


class ReadOnlyMemories:
    """Memories that are searched and not changed; see `MemoryStore`."""

    def __init__(self, memories: MemoryStore) -> None:
        self._memories = memories

    async def write(self, entry: MemoryEntry, vector: VectorRow | None = None) -> None:
        """Raise InputError."""
        raise InputError("nothing is remembered here")

    async def search(
        self, query: str, *, scope: str | None = None, limit: int = 10, reader: MemoryReader | None = None
    ) -> list[MemoryEntry]:
        """See `MemoryStore.search`."""
        return await self._memories.search(query, scope=scope, limit=limit, reader=reader)

    async def find(self, ids: Sequence[str]) -> dict[str, MemoryEntry]:
        """See `MemoryStore.find`."""
        return await self._memories.find(ids)

    async def list_linked(self, *, scope: str, limit: int, reader: MemoryReader | None = None) -> list[MemoryEntry]:
        """See `MemoryStore.list_linked`."""
        return await self._memories.list_linked(scope=scope, limit=limit, reader=reader)

    async def count(self, *, scope: str | None = None) -> int:
        """See `MemoryStore.count`."""
        return await self._memories.count(scope=scope)

    async def delete(self, entry_id: str) -> None:
        """Raise InputError."""
        raise InputError("nothing is forgotten here")

    async def delete_all(self, *, scope: str) -> int:
        """Raise InputError."""
        raise InputError("nothing is forgotten here")

    async def list_all(self, *, scope: str | None = None) -> list[MemoryEntry]:
        """See `MemoryStore.list_all`."""
        return await self._memories.list_all(scope=scope)

    async def find_index_damage(self) -> str:
        """See `MemoryStore.find_index_damage`."""
        return await self._memories.find_index_damage()

    async def rebuild_index(self) -> int:
        """Raise InputError."""
        raise InputError("the index is not made anew here")

    async def expire(self, before: datetime) -> int:
        """Do nothing."""
        return 0
