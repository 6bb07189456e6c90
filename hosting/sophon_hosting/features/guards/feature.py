"""Feature declaration: guards: the policy, the audit log, and the times of rate limits."""

import os
from collections.abc import Iterator
from typing import Final

from sophon.services import Services
from sophon_hosting.background_loops import BackgroundLoop
from sophon_hosting.features.feature import Feature
from sophon_hosting.features.guards.retention import delete_old_guard_data
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.store.contract import host_store


def _list_loops(services: Services, membership: GroupMembership) -> Iterator[BackgroundLoop]:
    """Return what signs the heads of the audit log, if there is a key. Raises InputError for one that is not there."""
    if services.settings.guards.audit.signing_key is None:
        return
    from sophon_hosting.features.guards.audit_heads import AuditHeadWriter, find_signing_key  # lazy: off by default

    if (key := find_signing_key(services.settings, os.environ)) is not None:
        file = services.folder / services.settings.guards.audit.head_file
        yield BackgroundLoop(AuditHeadWriter(host_store(services), services.clock, file, key).run_forever, "audit_head")


FEATURE: Final = Feature(
    "guards",
    page="guards.md",
    operations=["sophon_hosting.features.guards.operations", "sophon_hosting.features.guards.audit_operations"],
    loops=_list_loops,
    sweep=delete_old_guard_data,
)
