"""Retention of what routing has learned: trajectories, feedback, routes of messages."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def delete_old_trajectories(swept: "SweptStore") -> Mapping[str, int]:
    """Delete old trajectories, feedback and routes of messages, and those beyond their bounds."""
    from sophon.learning.policy_cache import EXPIRY, MAX_ENTRIES  # lazy: only a host needs it
    from sophon.learning.trajectories import MAX_KEPT
    from sophon.stores.vectors.contract import POLICIES, TRAJECTORIES

    store, days = swept.store, swept.settings.learning.days
    deleted = 0 if days is None else await store.trajectories.expire(swept.before(days))
    policies = await store.vectors.expire(POLICIES, swept.now - EXPIRY, MAX_ENTRIES)
    vectors = await store.vectors.expire(TRAJECTORIES, None, MAX_KEPT)
    return {"trajectories": deleted, "routing_policies": policies, "vectors": vectors}
