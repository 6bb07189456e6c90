"""Feature declaration: the API of OpenAI, as a way to a host: routes that are no operations."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from sophon_hosting.features.feature import Feature
from sophon_hosting.settings.hub import HubSettings

if TYPE_CHECKING:
    from aiohttp import web

    from sophon_hosting.host import Host


def _list_routes(host: "Host") -> "Iterable[web.AbstractRouteDef]":
    if not host.services.settings.section(HubSettings).open_ai_api:
        return ()
    from sophon_hosting.features.openai_api.routes import routes  # lazy: off by default

    return routes


FEATURE: Final = Feature("openai_api", routes=_list_routes)
