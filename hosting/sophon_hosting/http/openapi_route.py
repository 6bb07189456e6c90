"""`GET /openapi.json`: the OpenAPI document of this API, a file that `make generate` writes.

It is public like `/healthz`: it says what Sophon is, and nothing about this host. As a file it costs no start and no
request the time to build it, and loads no pydantic.
"""

from functools import cache
from pathlib import Path

from aiohttp import web

from sophon_hosting.http.web_page import Asset, AssetHandler, asset_handler

DOCUMENT = Path(__file__).parents[1] / "openapi.json"


def openapi_routes() -> list[web.RouteDef]:
    """Return the route `/openapi.json`; the file is read by the first request."""

    async def get_openapi(request: web.Request) -> web.StreamResponse:
        return await _open_document()(request)

    return [web.get("/openapi.json", get_openapi)]


@cache
def _open_document() -> AssetHandler:
    return asset_handler(Asset.read(DOCUMENT), "no-cache")
