"""Feature declaration: webhooks: operations, their service and routes, and the entries of events that are posted.

A host without any imports none of their modules.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sophon.services import Services
from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase
from sophon_hosting.features.webhooks.settings import WebhooksSettings

if TYPE_CHECKING:
    from aiohttp import web

    from sophon_hosting.events.wire_event import RowBuilder
    from sophon_hosting.features.webhooks.service import WebhookService
    from sophon_hosting.host import Host

WEBHOOKS: Final = ServiceKey["WebhookService"]("webhooks")


def _create_service(process: HostProcess) -> "WebhookService | None":
    settings = process.services.settings.section(WebhooksSettings)
    if not process.connects_channels or not (settings.incoming or settings.outgoing):
        return None
    from sophon_hosting.features.webhooks.service import WebhookService  # lazy: see above

    by_name = {each.channel.name: each.channel for each in process.channels}
    return WebhookService(process.services, process.host, process.environment, by_name)


def _build_event_rows(services: Services) -> "RowBuilder | None":
    """Return what builds the rows of events, with entries for the outgoing webhooks; None without any.

    Raises InputError.
    """
    webhooks = services.settings.section(WebhooksSettings).outgoing
    if not webhooks:
        return None
    from sophon_hosting.features.webhooks.outgoing import OutgoingWebhooks  # lazy: see above

    return OutgoingWebhooks(webhooks, services.clock).build_row


def _list_routes(host: "Host") -> "Sequence[web.RouteDef]":
    webhooks = host.feature_services.find(WEBHOOKS)
    return () if webhooks is None else webhooks.routes()


FEATURE: Final = Feature(
    "webhooks",
    page="webhooks.md",
    operations=["sophon_hosting.features.webhooks.operations"],
    services=[FeatureService(_create_service, Phase.DELIVERY, WEBHOOKS)],
    routes=_list_routes,
    event_rows=_build_event_rows,
    session_prefixes=["webhook"],
)
