"""Operations on webhooks: list them, and send a test event; for operators only."""

from typing import Annotated, cast

from sophon.errors import NotFound
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.webhooks.feature import WEBHOOKS
from sophon_hosting.features.webhooks.results import SentTest, WebhookList
from sophon_hosting.operations.request import Doc, NoFields, Request
from sophon_hosting.operations.table import Table

table = Table("webhooks")


class NamedWebhook(Request):
    """A webhook by its `Id` in the settings."""

    webhook_id: Annotated[str, Doc("The Id of an outgoing webhook.")]


@table.operation("GET /api/webhooks", needs="Operator")
async def list_webhooks(caller: Caller, request: NoFields) -> WebhookList:
    """List the webhooks in the order of the settings, the incoming ones first.

    An outgoing one has how many events wait, how many were given up, and its `last_error`.
    """
    webhooks = caller.host.feature_services.find(WEBHOOKS)
    return cast(WebhookList, {"items": [] if webhooks is None else await webhooks.describe()})


@table.operation("POST /api/webhooks/{webhook_id}/test", needs="Operator", ok=True, errors=(NotFound,))
async def test_webhook(caller: Caller, request: NamedWebhook) -> SentTest:
    """Send the event `webhook_test` to an outgoing webhook; the list shows what became of it."""
    webhooks = caller.host.feature_services.find(WEBHOOKS)
    if webhooks is None:
        raise NotFound("outgoing webhook", request.webhook_id)
    return {"entry_id": await webhooks.send_test(request.webhook_id)}
