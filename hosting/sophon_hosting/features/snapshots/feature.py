"""Feature declaration: snapshots of files before tool calls: the sweep of the copies that no snapshot has any more."""

from collections.abc import Iterator
from typing import Final

from sophon.services import Services
from sophon_hosting.background_loops import BackgroundLoop
from sophon_hosting.features.feature import Feature
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.snapshot_copies import SnapshotCopies
from sophon_hosting.store.contract import host_store


def _list_loops(services: Services, membership: GroupMembership) -> Iterator[BackgroundLoop]:
    if membership.is_shared:  # what the leader of retention deletes may be in copies of this machine
        yield BackgroundLoop(SnapshotCopies(host_store(services), services.clock, services.folder).run_forever)


FEATURE: Final = Feature("snapshots", loops=_list_loops)
