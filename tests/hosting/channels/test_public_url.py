"""`PublicUrl`: the host registers the webhook of its bot itself, and says what differs from it."""

from collections.abc import Sequence
from typing import Any

import pytest

from sophon import Services
from sophon_channels.contract import InboundEvent
from sophon_hosting.channels.channel_factory import create_channels
from tests.channels.telegram.bot_api import TOKEN, BotApi

ENVIRONMENT = {"BOT": TOKEN, "SECRET": "s3cret"}


class Nobody:
    async def receive(self, events: Sequence[InboundEvent]) -> None:
        return


def created(api: BotApi, **fields: Any) -> Any:
    telegram = {
        "Enabled": True,
        "Token": {"$env": "BOT"},
        "ApiBase": api.base,
        "Mode": fields.pop("Mode", "Webhook"),
        "WebhookSecret": {"$env": "SECRET"},
    }
    [found] = create_channels(Services(settings={"Channels": {"Telegram": telegram}, **fields}), ENVIRONMENT)
    return found.channel


@pytest.mark.parametrize("url", ["https://chat.example", "https://chat.example/"])
async def test_the_webhook_is_registered_at_the_public_url_with_the_secret(api: BotApi, url: str) -> None:
    channel = created(api, PublicUrl=url)
    await channel.start(Nobody())
    [call] = await api.called("setWebhook")
    await channel.stop()
    assert (call["url"], call["secret_token"]) == ("https://chat.example/webhooks/telegram", "s3cret")
    assert "edited_message" in call["allowed_updates"]
    assert all(result.ok for result in await channel.run_self_test())


async def test_the_self_test_names_another_address_that_is_registered(api: BotApi) -> None:
    api.webhook["url"] = "https://old.example/webhooks/telegram"
    results = await created(api, PublicUrl="https://chat.example").run_self_test()
    [problem] = [result for result in results if not result.ok]
    assert problem.fix == "it should be https://chat.example/webhooks/telegram"


async def test_without_a_public_url_and_in_polling_nothing_is_registered(api: BotApi) -> None:
    api.webhook["url"] = "https://elsewhere.example/webhooks/telegram"
    first = created(api)
    await first.start(Nobody())
    await first.stop()
    assert api.webhook["url"] == "https://elsewhere.example/webhooks/telegram"
    polling = created(api, Mode="Polling", PublicUrl="https://chat.example")
    await polling.start(Nobody())
    await polling.stop()
    assert api.webhook["url"] == ""
    assert api.of("setWebhook") == []
