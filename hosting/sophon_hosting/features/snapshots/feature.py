"""Feature declaration: snapshots of files before tool calls: commands, the sweep of old ones and of unused copies."""

from collections.abc import Iterator
from typing import Final

from sophon.services import Services
from sophon_hosting.background_loops import BackgroundLoop
from sophon_hosting.features.feature import Feature
from sophon_hosting.features.snapshots.retention import delete_old_snapshots
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.store.contract import host_store


def _list_loops(services: Services, membership: GroupMembership) -> Iterator[BackgroundLoop]:
    from sophon_hosting.features.snapshots.unused_copies import SnapshotCopies  # lazy: only a host needs it

    if membership.is_shared:  # what the leader of retention deletes may be in copies of this machine
        yield BackgroundLoop(SnapshotCopies(host_store(services), services.clock, services.folder).run_forever)


FEATURE: Final = Feature("snapshots", loops=_list_loops, sweep=delete_old_snapshots)
