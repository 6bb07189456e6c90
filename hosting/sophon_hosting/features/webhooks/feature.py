"""What a host has for webhooks: operations."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature


class WebhookOperations(Protocol):
    """What operators see and try of a host's webhooks."""

    async def describe(self) -> Sequence[Mapping[str, Any]]:
        """Return the webhooks as JSON rows."""
        ...

    async def send_test(self, webhook_id: str) -> str:
        """Send a test event to an outgoing webhook; return the id of its entry. Raises NotFound."""
        ...


WEBHOOKS: Final = ServiceKey[WebhookOperations]("webhooks")

FEATURE: Final = Feature("webhooks", operations=["sophon_hosting.features.webhooks.operations"])
