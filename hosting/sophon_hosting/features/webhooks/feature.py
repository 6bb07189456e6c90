"""Feature declaration: webhooks: operations, their service and routes, and the entries of events that are posted."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase
from sophon_hosting.features.webhooks.factory import build_event_rows, create_webhooks

if TYPE_CHECKING:
    from aiohttp import web

    from sophon_hosting.features.webhooks.service import WebhookService
    from sophon_hosting.host import Host

WEBHOOKS: Final = ServiceKey["WebhookService"]("webhooks")


def _create_service(process: HostProcess) -> "WebhookService | None":
    if not process.connects_channels:
        return None
    by_name = {each.channel.name: each.channel for each in process.channels}
    return create_webhooks(process.services, process.host, process.environment, by_name)


def _list_routes(host: "Host") -> "Sequence[web.RouteDef]":
    webhooks = host.feature_services.find(WEBHOOKS)
    return () if webhooks is None else webhooks.routes()


FEATURE: Final = Feature(
    "webhooks",
    operations=["sophon_hosting.features.webhooks.operations"],
    services=[FeatureService(_create_service, Phase.DELIVERY, WEBHOOKS)],
    routes=_list_routes,
    event_rows=build_event_rows,
    session_prefixes=["webhook"],
)
