"""Retention of approvals in advance: some time after they ended."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def delete_ended_grants(swept: "SweptStore") -> Mapping[str, int]:
    """Delete grants that have ended, some time after."""
    from sophon_hosting.retention import INTERNAL_DAYS  # lazy: only a host needs it

    return {"grants": await swept.store.grants.expire(swept.before(INTERNAL_DAYS))}
