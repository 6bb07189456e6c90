"""Retention: delete what is old, in small batches, and return the space to the disk."""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from sophon.clock import Clock
from sophon.failure_log import log_failure
from sophon.security.shield.evaluation_budget import LONGEST_DAY_SECONDS
from sophon.settings import GuardsSettings, Settings
from sophon.snapshots.archive import SnapshotArchive
from sophon.stores.contract import Store
from sophon.stores.vectors.contract import POLICIES, TRAJECTORIES

log = logging.getLogger("sophon")

INTERNAL_DAYS = 30
"""Days that what only the host uses is kept after its use: sent entries, de-duplication keys, decided approvals,
journals. Platforms repeat a message for up to 7 days (WhatsApp). Source: reference/channels.md.
"""

FIRST_SWEEP_SECONDS = 60.0
SWEEP_INTERVAL_SECONDS = 3600.0
"""Delay before the first sweep, and between two."""


GOAL_WINDOW = timedelta(hours=1)
"""The longest window of `Goals.Limits`."""


class RetentionSweep:
    """Deletes the data that is older than `Retention` and `INTERNAL_DAYS` allow. Sessions and messages stay."""

    def __init__(self, store: Store, clock: Clock, settings: Settings, folder: Path) -> None:
        self._store, self._clock, self._settings = store, clock, settings.retention
        self._learning, self._goals = settings.learning, settings.goals
        self._snapshots, self._archive = settings.guards.snapshot, SnapshotArchive(folder)
        self._longest_window = max(find_longest_window(settings.guards), GOAL_WINDOW)

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
        store, settings, now = self._store, self._settings, self._clock.now()
        internal = now - timedelta(days=INTERNAL_DAYS)
        deleted = {
            "sent_entries": await store.outbox.expire(internal),
            "inbound_keys": await store.runs.expire_keys(internal),
            "journal_entries": await store.journal.expire(internal),
            "approvals": await store.approvals.expire(internal),
            "rate_events": await store.rate_windows.expire(now - self._longest_window),
            "grants": await store.grants.expire(internal),
        }
        if (days := self._goals.keep_days) is not None:
            deleted["goals"] = await store.goals.expire(now - timedelta(days=days))
        deleted |= await self._sweep_snapshots()
        deleted |= await self._sweep_learning(now)
        if settings.events is not None:
            deleted["events"] = await store.events.expire(now - timedelta(days=settings.events))
        if settings.runs is not None:
            deleted["schedules"] = await store.schedules.expire(now - timedelta(days=settings.runs))
            deleted["runs"] = await store.runs.expire(now - timedelta(days=settings.runs))
            deleted["sub_agents"] = await store.sub_agents.expire(now - timedelta(days=settings.runs))
        if settings.usage is not None:
            deleted["usage"] = await store.usage.expire((now - timedelta(days=settings.usage)).date().isoformat())
        if settings.audit is not None:
            deleted["audit_entries"] = await store.audit.expire(now - timedelta(days=settings.audit))
        if settings.traces is not None:
            deleted["traces"] = await store.traces.expire(now - timedelta(days=settings.traces))
        deleted["reclaimed_bytes"] = await store.maintenance.reclaim_space()
        if any(deleted.values()):
            log.info("deleted old data: %s", format_counts(deleted))
        return deleted

    async def _sweep_learning(self, now: datetime) -> dict[str, int]:
        """Delete old trajectories, feedback and routes of messages, and those beyond their bounds."""
        store, settings = self._store, self._learning
        deleted = 0
        if settings.days is not None:
            deleted = await store.trajectories.expire(now - timedelta(days=settings.days))
        before = None if settings.policy_expiry is None else now - settings.policy_expiry
        policies = await store.vectors.expire(POLICIES, before, settings.max_policies)
        vectors = await store.vectors.expire(TRAJECTORIES, None, settings.max_trajectories)
        return {"trajectories": deleted, "routing_policies": policies, "vectors": vectors}

    async def _sweep_snapshots(self) -> dict[str, int]:
        """Delete old snapshots, then the copies that no snapshot has, also those that a kill has left."""
        store, settings = self._store.snapshots, self._snapshots
        now = self._clock.now()
        before = None if settings.days is None else now - timedelta(days=settings.days)
        deleted = await store.expire(before, settings.keep)
        copies = await self._clock.run_in_thread(lambda: self._archive.list_old_copies(now))
        ids = await store.find_ids({name.partition(".")[0] for name in copies})
        unused = [name for name in copies if name.partition(".")[0] not in ids]
        await self._clock.run_in_thread(lambda: self._archive.remove(unused))
        return {"snapshots": deleted, "unused_copies": len(unused)}


def find_longest_window(guards: GuardsSettings) -> timedelta:
    """Return for how long the times of rate-limited events are needed: a day if evaluations are counted by the day."""
    longest = guards.rate_limit.find_longest_period()
    return max(longest, timedelta(seconds=LONGEST_DAY_SECONDS)) if guards.shield.has_evaluator else longest


def format_counts(counts: Mapping[str, int]) -> str:
    """Return the counts that are not 0, in words."""
    return ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in counts.items() if count) or "nothing"
