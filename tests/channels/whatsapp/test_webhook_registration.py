"""`PublicUrl`: the channel registers the webhook of its number with Meta, which verifies it first."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from sophon.testing import VirtualClock
from sophon_channels.whatsapp.webhook_registration import check_webhook
from tests.channels.whatsapp.conftest import Nobody
from tests.channels.whatsapp.graph_api import GraphApi
from tests.channels.whatsapp.test_channel import sent

URL = "https://chat.example/webhooks/whatsapp"


@pytest.fixture
async def host() -> AsyncIterator[TestServer]:
    """A server that has the routes of a channel once `app` got them."""
    server = TestServer(web.Application())
    yield server
    await server.close()


async def serve(host: TestServer, make: Any, **more: Any) -> Any:
    """Return a channel whose webhook is served at the URL that it registers."""
    host.app.add_routes(make().routes())  # type: ignore[attr-defined] # of an application
    await host.start_server()
    return make(webhook_url=str(host.make_url("/webhooks/whatsapp")), **more)


async def test_the_address_of_the_number_is_registered_once_meta_has_verified_it(
    graph: GraphApi, make: Any, host: TestServer
) -> None:
    graph.webhooks["application"] = "https://elsewhere.example/webhooks/whatsapp"
    channel = await serve(host, make)
    await channel.start(Nobody())
    await channel._registering
    assert graph.webhooks["phone_number"] == str(host.make_url("/webhooks/whatsapp"))
    await channel.stop()
    await channel.start(Nobody())
    await channel._registering
    assert graph.configured == 1, "an address that is registered is not registered again"
    assert channel.health.detail == ""


async def test_an_address_that_meta_cannot_verify_is_reported_and_tried_again(
    graph: GraphApi, make: Any, host: TestServer
) -> None:
    clock = VirtualClock(auto=False)
    other = make(environment={"WORD": "another-word"})
    host_app = host.app  # type: ignore[attr-defined] # as above
    routes = {"now": other.routes()}

    async def verify(request: web.Request) -> web.StreamResponse:
        return await routes["now"][0].handler(request)

    host_app.add_routes([web.get("/webhooks/whatsapp", verify)])
    await host.start_server()
    channel = make(clock=clock, webhook_url=str(host.make_url("/webhooks/whatsapp")))
    await channel.start(Nobody())
    async with asyncio.timeout(30):
        while not channel.health.detail:
            await asyncio.sleep(0)
    assert "the webhook could not be registered" in channel.health.detail
    assert channel.health.state == "running", "what is to be sent need not wait"
    await sent(channel)
    assert "the webhook could not be registered" in channel.health.detail, "a sent message changes nothing of that"
    routes["now"] = make().routes()
    await clock.advance(1)
    await asyncio.wait_for(channel._registering, 30)
    assert (channel.health.detail, graph.configured) == ("", 1)


async def test_without_a_public_url_nothing_is_registered(graph: GraphApi, make: Any) -> None:
    channel = make()
    await channel.start(Nobody())
    assert channel._registering is None
    assert graph.webhooks == {}


@pytest.mark.parametrize(
    ("webhooks", "url", "ok", "words"),
    [
        ({"phone_number": URL}, URL, True, "the webhook is at chat.example"),
        ({"application": URL}, None, True, "the webhook is at chat.example"),
        ({"phone_number": "https://old.example/webhooks/whatsapp"}, URL, False, "the webhook is at old.example"),
        ({}, URL, False, "the webhook is not set"),
        ({"application": "https://chat.example/hook"}, None, False, "the path of the webhook is not"),
        ({}, "http://chat.example/webhooks/whatsapp", False, "PublicUrl is not https"),
    ],
)
def test_the_self_test_compares_what_meta_has(webhooks: dict[str, str], url: str | None, ok: bool, words: str) -> None:
    [found] = check_webhook({"webhook_configuration": webhooks}, url)
    assert found.ok is ok
    assert words in found.summary


def test_the_self_test_says_nothing_of_what_meta_does_not_state() -> None:
    assert list(check_webhook({}, None)) == []
