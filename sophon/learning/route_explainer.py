"""Explanation of a route, for people: what would be chosen for a message, and why."""

from typing import Protocol

from sophon.learning.complexity_tiers import compute_tier
from sophon.learning.task_profile import profile_task


class RouteExplainer(Protocol):
    """Services that can explain a route, such as `sophon.services.Services`."""

    async def explain_route(self, text: str) -> str:
        """Return what would be chosen for a message."""
        ...


async def explain_route(text: str, services: RouteExplainer | None = None) -> str:
    """Return what routing would choose for a message and why; without services, what the default rules say.

    Nothing is asked, and no state of routing changes.
    """
    if services is not None:
        return await services.explain_route(text)
    profile = profile_task(text)
    tier = compute_tier(profile.complexity, confidence=profile.confidence)
    return f"task type {profile.task_type}, complexity {profile.complexity:.2f}: tier {tier}"
