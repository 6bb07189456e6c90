"""Retention: delete what is old, in small batches, and return the space to the disk."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.failure_log import log_failure
from sophon.settings import Settings
from sophon.stores.sessions.contract import SessionStore
from sophon_hosting.settings.retention import RetentionSettings
from sophon_hosting.store.contract import HostStore

log = logging.getLogger("sophon")

FEATURES: Final = "sophon_hosting.features.registry"
"""Module with the sweeps of the features, by name, because these stand above a host."""

INTERNAL_DAYS = 30
"""Days that what only the host uses is kept after its use: sent entries, de-duplication keys, decided approvals,
journals, tokens that are no longer accepted. Platforms repeat a message for up to 7 days (WhatsApp).
"""

FIRST_SWEEP_SECONDS = 60.0

SWEEP_INTERVAL_SECONDS = 3600.0
"""Delay before the first sweep, and between two."""

BATCH_SIZE = 100
"""Sessions that are looked for at once; each is deleted in a transaction of its own."""


class SessionDeleter(Protocol):
    """Deletes sessions with all that belongs to them."""

    async def delete_session(self, session_id: str) -> None:
        """Delete a session. Raises NotFound."""
        ...

    async def delete_idle_session(self, session_id: str, before: datetime) -> bool:
        """Delete a session if it is idle, as `SessionStore.delete_idle` does; return whether it was deleted."""
        ...


@dataclass(frozen=True, slots=True)
class SweptStore:
    """What the sweep of a feature works on, and the time that it takes for now; `folder` is that of the workspace."""

    store: HostStore
    settings: Settings
    sessions: SessionDeleter
    clock: Clock
    folder: Path
    now: datetime

    def before(self, days: float) -> datetime:
        """Return the time so many days ago."""
        return self.now - timedelta(days=days)


Sweep: TypeAlias = Callable[[SweptStore], Awaitable[Mapping[str, int]]]
"""Deletes what is old of a feature's data; returns how many rows by kind. Raises StoreUnavailable."""


class RetentionSweep:
    """Deletes the data that is older than `Retention` and `INTERNAL_DAYS` allow.

    `sessions` deletes sessions; by default in the store alone, as a process without a host does.
    """

    def __init__(
        self,
        store: HostStore,
        clock: Clock,
        settings: Settings,
        folder: Path,
        sessions: SessionDeleter | None = None,
    ) -> None:
        self._store, self._clock, self._settings = store, clock, settings
        self._folder = folder
        self._sessions = sessions or StoreSessions(store.sessions)

    async def run_forever(self) -> None:
        """Sweep every `SWEEP_INTERVAL_SECONDS`, until cancelled; while the store is unavailable, wait."""
        await self._clock.sleep(FIRST_SWEEP_SECONDS)
        while True:
            await self._store.health.wait_until_available()
            try:
                await self.sweep()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "deleting old data failed; the next attempt follows")
            await self._clock.sleep(SWEEP_INTERVAL_SECONDS)

    async def sweep(self) -> dict[str, int]:
        """Sweep once; return how many rows of each kind were deleted, and the bytes returned to the disk.

        Raises StoreUnavailable.
        """
        now = self._clock.now()
        deleted = await self._sweep_internal(now)
        deleted |= await self._sweep_settings(now)
        swept = SweptStore(self._store, self._settings, self._sessions, self._clock, self._folder, now)
        for sweep in import_module(FEATURES).list_sweeps():
            deleted |= await sweep(swept)
        # Last, because a session that is in use may refuse to be deleted.
        if (days := self._settings.section(RetentionSettings).sessions) is not None:
            deleted["sessions"] = await self._delete_sessions(now - timedelta(days=days))
        deleted["reclaimed_bytes"] = await self._store.maintenance.reclaim_space()
        if any(deleted.values()):
            log.info("deleted old data: %s", format_counts(deleted))
        return deleted

    async def _sweep_internal(self, now: datetime) -> dict[str, int]:
        """Delete what only the host uses, some time after its use."""
        store, internal = self._store, now - timedelta(days=INTERNAL_DAYS)
        return {
            "sent_entries": await store.outbox.expire(internal),
            "inbound_keys": await store.runs.expire_keys(internal),
            "journal_entries": await store.runs.expire_journal(internal),
            "approvals": await store.approvals.expire(internal),
        }

    async def _sweep_settings(self, now: datetime) -> dict[str, int]:
        """Delete what `Retention` names, but sessions."""
        store, settings = self._store, self._settings.section(RetentionSettings)
        deleted: dict[str, int] = {}
        if settings.events is not None:
            deleted["events"] = await store.events.expire(now - timedelta(days=settings.events))
        if settings.runs is not None:
            before = now - timedelta(days=settings.runs)
            deleted["runs"] = await store.runs.expire(before)
            deleted["dead_letters"] = await store.outbox.expire_dead(before)
        return deleted

    async def _delete_sessions(self, before: datetime) -> int:
        deleted = 0
        while idle := await self._store.sessions.list_idle(before, BATCH_SIZE):
            results = [await self._sessions.delete_idle_session(each, before) for each in idle]
            deleted += sum(results)
            if not any(results):  # all of them have been used since
                break
        return deleted


def format_counts(counts: Mapping[str, int]) -> str:
    """Return the counts that are not 0, in words."""
    return ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in counts.items() if count) or "nothing"


class StoreSessions:
    """Deletes sessions in the store alone: for a process without a host, such as `sophon store prune`."""

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions

    async def delete_session(self, session_id: str) -> None:
        """See `SessionDeleter.delete_session`."""
        await self._sessions.delete(session_id)

    async def delete_idle_session(self, session_id: str, before: datetime) -> bool:
        """See `SessionDeleter.delete_idle_session`."""
        return await self._sessions.delete_idle(session_id, before)
