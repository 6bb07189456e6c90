"""Feature declaration: guards: the policy, the audit log, and the times of rate limits."""

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sophon.services import Services
from sophon_hosting.background_loops import BackgroundLoop
from sophon_hosting.features.feature import Feature
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.settings.retention import RetentionSettings
from sophon_hosting.store.contract import host_store

if TYPE_CHECKING:
    from sophon.settings import Settings
    from sophon_hosting.retention import SweptStore


def _list_loops(services: Services, membership: GroupMembership) -> Iterator[BackgroundLoop]:
    """Return what signs the heads of the audit log, if there is a key. Raises InputError for one that is not there."""
    if services.settings.guards.audit.signing_key is None:
        return
    from sophon_hosting.features.guards.audit_heads import AuditHeadWriter, find_signing_key  # lazy: off by default

    if (key := find_signing_key(services.settings, os.environ)) is not None:
        file = services.folder / services.settings.guards.audit.head_file
        yield BackgroundLoop(AuditHeadWriter(host_store(services), services.clock, file, key).run_forever, "audit_head")


async def _sweep(swept: "SweptStore") -> Mapping[str, int]:
    """Delete the times of rate-limited events that no window needs, and old entries of the audit log."""
    deleted = {"rate_events": await swept.store.rate_windows.expire(swept.now - find_longest_window(swept.settings))}
    if (days := swept.settings.section(RetentionSettings).audit) is not None:
        deleted["audit_entries"] = await swept.store.audit.expire(swept.before(days))
    return deleted


def find_longest_window(settings: "Settings") -> timedelta:
    """Return for how long the times of rate-limited events are needed: a day at least, for the budget of evaluations.

    A chain may have an evaluator that the settings of the host do not show.
    """
    from sophon.local_day import LONGEST_DAY_SECONDS  # lazy: only a sweep needs it

    return max(settings.guards.rate_limit.find_longest_period(), timedelta(seconds=LONGEST_DAY_SECONDS))


FEATURE: Final = Feature(
    "guards",
    page="guards.md",
    operations=["sophon_hosting.features.guards.operations", "sophon_hosting.features.guards.audit_operations"],
    loops=_list_loops,
    sweep=_sweep,
)
