"""Factory of the webhooks; a host without any imports none of their modules."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sophon.services import Services

if TYPE_CHECKING:
    from sophon_channels.contract import Channel
    from sophon_hosting.events.wire_event import RowBuilder
    from sophon_hosting.features.webhooks.service import WebhookService
    from sophon_hosting.host import Host


def build_event_rows(services: Services) -> "RowBuilder | None":
    """Return what builds the rows of events, with entries for the outgoing webhooks; None without any.

    Raises InputError.
    """
    webhooks = services.settings.webhooks.outgoing
    if not webhooks:
        return None
    from sophon_hosting.features.webhooks.outgoing import (
        OutgoingWebhooks,  # lazy: only a host with outgoing webhooks needs it
    )

    return OutgoingWebhooks(webhooks, services.clock).build_row


def create_webhooks(
    services: Services, host: "Host", environment: Mapping[str, str], channels: "Mapping[str, Channel]"
) -> "WebhookService | None":
    """Return the webhooks of the settings; None if there are none. Raises InputError."""
    settings = services.settings.webhooks
    if not (settings.incoming or settings.outgoing):
        return None
    from sophon_hosting.features.webhooks.service import WebhookService  # lazy: only where there are webhooks

    return WebhookService(services, host, environment, channels)
