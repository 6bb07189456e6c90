"""Routing of messages to models, for operators."""

import logging
from typing import Any

from sophon_hosting.client_api.serialization import route_average_to_json
from sophon_hosting.client_api.user_access import UserAccess

log = logging.getLogger("sophon")


class Routing:
    """What routing has learned and would choose, each operation with its permission check."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    async def list_averages(self) -> list[dict[str, Any]]:
        """Return the moving averages of routing. Operators only. Raises Forbidden."""
        self._access.require_operator()
        return [route_average_to_json(each) for each in await self._access.store.route_averages.list_all()]

    def describe(self) -> dict[str, Any]:
        """Return the strategy and the tiers of the settings. Operators only. Raises Forbidden."""
        self._access.require_operator()
        routing = self._access.host.services.settings.routing
        tiers = [
            {"name": each.name, "models": each.models, "complexity": list(each.complexity or ())}
            for each in routing.tiers
        ]
        return {"strategy": routing.strategy, "selection": routing.selection, "tiers": tiers}

    async def explain(self, text: str) -> str:
        """Return what routing would choose for a message of this user, and why. Operators only. Raises Forbidden."""
        self._access.require_operator()
        return await self._access.host.services.explain_route(text, principal=self._access.user.id)

    async def reset(self) -> int:
        """Forget the averages and demotions of routing; return how many averages there were. Operators only; logged.

        Raises Forbidden.
        """
        self._access.require_operator()
        count = await self._access.host.services.router.reset(self._access.store)
        log.info("routing was reset by %s: %d averages were deleted", self._access.user.id, count)
        return count
