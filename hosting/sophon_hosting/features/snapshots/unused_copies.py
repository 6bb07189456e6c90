"""Copies of snapshots on this machine: those that no snapshot has any more are deleted."""

import logging
from pathlib import Path

from sophon.clock import Clock
from sophon.failure_log import log_failure
from sophon.snapshots.archive import SnapshotArchive
from sophon.stores.contract import Store

log = logging.getLogger("sophon")

SWEEP_INTERVAL_SECONDS = 3600.0
"""Delay before each sweep of the copies of one process."""


class SnapshotCopies:
    """Sweep of the copies below one folder. Each process of a group has its own, the store the snapshots of all."""

    def __init__(self, store: Store, clock: Clock, folder: Path) -> None:
        self._store, self._clock, self._archive = store, clock, SnapshotArchive(folder)

    async def run_forever(self) -> None:
        """Sweep every hour, until cancelled; while the store is unavailable, wait."""
        while True:
            await self._clock.sleep(SWEEP_INTERVAL_SECONDS)
            await self._store.health.wait_until_available()
            try:
                await self.sweep()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "deleting copies of old snapshots failed; the next attempt follows")

    async def sweep(self) -> int:
        """Delete the copies that no snapshot has, also those that a kill has left; return how many."""
        now = self._clock.now()
        copies = await self._clock.run_in_thread(lambda: self._archive.list_old_copies(now))
        ids = await self._store.snapshots.find_ids({name.partition(".")[0] for name in copies})
        unused = [name for name in copies if name.partition(".")[0] not in ids]
        await self._clock.run_in_thread(lambda: self._archive.remove(unused))
        return len(unused)
