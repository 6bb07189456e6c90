"""The client before servers that say what the Graph API does not."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from sophon.clock import SystemClock
from sophon_channels.contract import ChatLocation, SendAmbiguous
from sophon_channels.whatsapp.api.client import WhatsAppClient
from sophon_channels.whatsapp.api.errors import WhatsAppApiError, send_result_from_error
from tests.channels.whatsapp.conftest import Nobody
from tests.channels.whatsapp.graph_api import TOKEN, GraphApi
from tests.channels.whatsapp.test_channel import sent

Serve = Callable[[web.Response], Awaitable[tuple[WhatsAppClient, list[str]]]]
TEXT = {"type": "text", "text": {"preview_url": False, "body": "hello"}}


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """A client of a server that answers everything alike, and the paths that it was asked for."""
    opened: list[Any] = []

    async def serve(answer: web.Response) -> tuple[WhatsAppClient, list[str]]:
        asked: list[str] = []

        async def handle(request: web.Request) -> web.Response:
            asked.append(request.raw_path)
            return answer

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        server = TestServer(app)
        await server.start_server()
        client = WhatsAppClient("1", TOKEN, str(server.make_url("/v1/")), SystemClock())
        opened.extend([client, server])
        return client, asked

    yield serve
    for each in opened:
        await each.close()


@pytest.mark.parametrize("answer", ["", "<html>Welcome to our network</html>", "{}", '{"messages": []}', "[" * 100_000])
async def test_a_success_that_names_no_message_is_a_doubt(serve: Serve, answer: str) -> None:
    client, _ = await serve(web.Response(text=answer))
    with pytest.raises(WhatsAppApiError) as raised:
        await client.send_message("15550002222", TEXT)
    assert isinstance(send_result_from_error(raised.value, 1), SendAmbiguous)


async def test_a_redirect_is_not_followed_with_the_token(serve: Serve) -> None:
    client, asked = await serve(web.Response(status=302, headers={"Location": "/elsewhere"}))
    with pytest.raises(WhatsAppApiError, match="302"):
        await client.get_phone_number()
    assert len(asked) == 1


async def test_the_id_of_a_file_cannot_name_another_address(serve: Serve) -> None:
    client, asked = await serve(web.json_response({}))
    await client.get_media("../me/accounts?fields=access_token#")
    assert asked == ["/v1/..%2Fme%2Faccounts%3Ffields%3Daccess_token%23"]


@pytest.mark.parametrize("address", ["", "not an address", "file:///etc/passwd", "http://[", "http://127.0.0.1:1/x"])
async def test_an_address_that_leads_nowhere_is_a_failure(serve: Serve, address: str) -> None:
    client, _ = await serve(web.Response())
    with pytest.raises(WhatsAppApiError):
        async with client.stream_file(address, 10):
            pass


async def test_health_recovers_with_the_first_message_that_goes_out(make: Any, graph: GraphApi) -> None:
    channel = make()
    graph.answers.extend([(500, 1), (401, 190)])
    await channel.start(Nobody())
    assert channel.health.state == "failing"
    await sent(channel)
    assert "access token" in channel.health.detail
    await sent(channel)
    assert (channel.health.state, channel.health.detail) == ("running", "")


async def test_an_expired_token_is_noticed_by_a_read_receipt_too_and_said_once(
    make: Any, graph: GraphApi, caplog: Any
) -> None:
    channel = make()
    await channel.start(Nobody())
    graph.answers.extend([(401, 190)] * 3)
    for number in range(3):
        await channel.send_typing(ChatLocation("15550002222"), f"wamid.{number}")
    assert channel.health.state == "failing"
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    await channel.send_typing(ChatLocation("15550002222"), "wamid.AAA2")
    assert channel.health.state == "running"
