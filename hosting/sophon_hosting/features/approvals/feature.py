"""Feature declaration: approvals and grants."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sophon_hosting.features.feature import Feature

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def _sweep(swept: "SweptStore") -> Mapping[str, int]:
    """Delete grants that have ended, some time after."""
    from sophon_hosting.retention import INTERNAL_DAYS  # lazy: only a host needs it

    return {"grants": await swept.store.grants.expire(swept.before(INTERNAL_DAYS))}


FEATURE: Final = Feature(
    "approvals",
    page="channels.md#approvals",
    operations=["sophon_hosting.features.approvals.operations", "sophon_hosting.features.approvals.grant_operations"],
    sweep=_sweep,
)
