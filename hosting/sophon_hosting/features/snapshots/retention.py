"""Retention of snapshots, and of their copies on this machine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore

KEPT_SNAPSHOTS: Final = 100
"""Snapshots that are kept of each user's files: what a day of work changes."""


async def delete_old_snapshots(swept: "SweptStore") -> Mapping[str, int]:
    """Delete old snapshots, then the copies on this machine that no snapshot has."""
    from sophon_hosting.features.snapshots.unused_copies import SnapshotCopies  # lazy: only a host needs it

    days = swept.settings.guards.snapshot.days
    deleted = await swept.store.snapshots.expire(None if days is None else swept.before(days), KEPT_SNAPSHOTS)
    copies = SnapshotCopies(swept.store, swept.clock, swept.folder)
    return {"snapshots": deleted, "unused_copies": await copies.sweep()}
