"""Webhooks, for operators."""

from collections.abc import Sequence
from typing import Any

from sophon.errors import NotFound
from sophon_hosting.client_api.user_access import UserAccess


class Webhooks:
    """The webhooks of the host, each operation with its permission check."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    async def test(self, webhook_id: str) -> str:
        """Send a test event to an outgoing webhook; return the id of its entry. Operators only. Raises NotFound."""
        self._access.require_operator()
        if self._access.host.webhooks is None:
            raise NotFound("outgoing webhook", webhook_id)
        return await self._access.host.webhooks.send_test(webhook_id)

    async def list(self) -> Sequence[dict[str, Any]]:
        """Return the webhooks, the outgoing ones with what waits and what was given up. Operators only."""
        self._access.require_operator()
        return [] if self._access.host.webhooks is None else await self._access.host.webhooks.describe()
