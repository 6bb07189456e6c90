"""Feature declaration: snapshots of files before tool calls: commands, and the sweep of snapshots and their copies."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from sophon.services import Services
from sophon_hosting.background_loops import BackgroundLoop
from sophon_hosting.features.feature import Feature
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.store.contract import host_store

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore

KEPT_SNAPSHOTS: Final = 100
"""Snapshots that are kept of each user's files: what a day of work changes."""


def _list_loops(services: Services, membership: GroupMembership) -> Iterator[BackgroundLoop]:
    from sophon_hosting.features.snapshots.unused_copies import SnapshotCopies  # lazy: only a host needs it

    if membership.is_shared:  # what the leader of retention deletes may be in copies of this machine
        yield BackgroundLoop(SnapshotCopies(host_store(services), services.clock, services.folder).run_forever)


async def _sweep(swept: "SweptStore") -> Mapping[str, int]:
    """Delete old snapshots, then the copies on this machine that no snapshot has."""
    from sophon_hosting.features.snapshots.unused_copies import SnapshotCopies  # lazy: see above

    days = swept.settings.guards.snapshot.days
    deleted = await swept.store.snapshots.expire(None if days is None else swept.before(days), KEPT_SNAPSHOTS)
    copies = SnapshotCopies(swept.store, swept.clock, swept.folder)
    return {"snapshots": deleted, "unused_copies": await copies.sweep()}


FEATURE: Final = Feature("snapshots", loops=_list_loops, sweep=_sweep)
