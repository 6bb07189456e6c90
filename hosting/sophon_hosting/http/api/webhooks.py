"""`/api/webhooks`: the webhooks of the host; for operators only."""

from typing import cast

from aiohttp import web

from sophon.errors import NotFound
from sophon_hosting.features.webhooks.results import SentTest, WebhookList
from sophon_hosting.http.json_io import RequestBody, get_operator, json_response, parse_body


class TestBody(RequestBody):
    """Body of a test: empty."""

    __test__ = False


routes = web.RouteTableDef()


@routes.get("/api/webhooks")
async def list_webhooks(request: web.Request) -> web.Response:
    """List the webhooks in the order of the settings, the incoming ones first; with what waits and was given up."""
    webhooks = get_operator(request).host.webhooks
    listed = cast(WebhookList, {"items": [] if webhooks is None else await webhooks.describe()})
    return json_response(listed)


@routes.post("/api/webhooks/{webhook_id}/test")
async def test_webhook(request: web.Request) -> web.Response:
    """Send a test event. Raises NotFound for what is no outgoing webhook."""
    await parse_body(request, TestBody)
    webhooks, webhook_id = get_operator(request).host.webhooks, request.match_info["webhook_id"]
    if webhooks is None:
        raise NotFound("outgoing webhook", webhook_id)
    sent: SentTest = {"entry_id": await webhooks.send_test(webhook_id)}
    return json_response({"ok": True, **sent})
