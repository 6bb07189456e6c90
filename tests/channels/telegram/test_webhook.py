"""The webhook: who may come in, and when Telegram is told that it need not come again."""

import json
from collections.abc import AsyncGenerator
from io import BytesIO

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from sophon_channels.contract import InboundMessage
from sophon_channels.telegram.channel import TelegramChannel
from sophon_channels.telegram.webhook import MAX_BODY_BYTES, SECRET_HEADER, WEBHOOK_PATH, is_valid_secret
from tests.channels.telegram.bot_api import BotApi
from tests.channels.telegram.conftest import Open
from tests.channels.telegram.parts import SECRET, Box, broken_store, message

URL = f"https://bot.example{WEBHOOK_PATH}"
RIGHT = {SECRET_HEADER: SECRET}

Client = TestClient[web.Request, web.Application]


@pytest.fixture
async def channel(opened: Open) -> TelegramChannel:
    return await opened(Mode="Webhook", webhook_url=URL)


@pytest.fixture
async def client(channel: TelegramChannel) -> AsyncGenerator[Client]:
    app = web.Application(client_max_size=64 * MAX_BODY_BYTES)
    app.add_routes(channel.routes())
    async with TestClient(TestServer(app)) as client:
        yield client


async def test_the_webhook_is_registered_with_its_secret_and_drops_nothing(
    channel: TelegramChannel, api: BotApi
) -> None:
    assert api.of("setWebhook") == [
        {
            "url": URL,
            "secret_token": SECRET,
            "max_connections": 1,
            "drop_pending_updates": False,
            "allowed_updates": ["message", "edited_message", "callback_query", "message_reaction"],
        }
    ]
    assert api.of("getUpdates") == []


async def test_an_update_is_kept_before_it_is_answered(client: Client, box: Box) -> None:
    response = await client.post(WEBHOOK_PATH, json=message("hello"), headers=RIGHT)
    assert response.status == 200
    assert [arrival.text for arrival in box.arrivals if isinstance(arrival, InboundMessage)] == ["hello"]


async def test_an_update_that_could_not_be_kept_is_asked_for_again(client: Client, box: Box) -> None:
    box.failures = [broken_store()]
    statuses = [(await client.post(WEBHOOK_PATH, json=message(), headers=RIGHT)).status for _ in range(2)]
    assert statuses == [503, 200]
    assert len(box.arrivals) == 1


@pytest.mark.parametrize("shown", [None, "", "wrong", SECRET + "x", SECRET[:-1], "sécret"])
async def test_without_the_secret_nothing_is_read(client: Client, box: Box, shown: str | None) -> None:
    headers = {} if shown is None else {SECRET_HEADER: shown}
    response = await client.post(WEBHOOK_PATH, json=message(), headers=headers)
    assert response.status == 401
    assert box.arrivals == []


async def test_five_megabytes_without_the_secret_are_refused(client: Client, box: Box) -> None:
    response = await client.post(WEBHOOK_PATH, data=BytesIO(b"x" * 5 * MAX_BODY_BYTES), headers={"Connection": "close"})
    assert response.status == 401


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_body_of_more_than_a_megabyte_is_refused(client: Client, box: Box, is_told: bool) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(17):
            yield b"x" * (MAX_BODY_BYTES // 16)

    body = BytesIO(b"x" * (MAX_BODY_BYTES + 1)) if is_told else pieces()
    response = await client.post(WEBHOOK_PATH, data=body, headers=RIGHT)
    assert response.status == 413


@pytest.mark.parametrize(
    "rubbish", [b"", b"x", b"[]", b"1", b"\xff\xfe", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"]
)
async def test_rubbish_is_a_bad_request(client: Client, box: Box, rubbish: bytes) -> None:
    response = await client.post(WEBHOOK_PATH, data=rubbish, headers=RIGHT)
    assert response.status == 400
    assert box.arrivals == []


@pytest.mark.parametrize("update", [{}, {"update_id": 1}, {"message": 5}, {"message": {"text": "\ud83d"}}])
async def test_what_is_unknown_is_taken_and_forgotten(client: Client, box: Box, update: dict[str, object]) -> None:
    response = await client.post(WEBHOOK_PATH, data=json.dumps(update), headers=RIGHT)
    assert response.status == 200
    assert box.arrivals == []


async def test_a_channel_that_does_not_run_asks_telegram_to_come_again(
    channel: TelegramChannel, client: Client, box: Box
) -> None:
    await channel.stop()
    assert (await client.post(WEBHOOK_PATH, json=message(), headers=RIGHT)).status == 503


async def test_polling_has_no_webhook(opened: Open) -> None:
    assert list((await opened()).routes()) == []


@pytest.mark.parametrize(
    ("secret", "fine"), [("a", True), ("aZ_-9" * 51, True), ("", False), ("ü", False), ("a" * 257, False)]
)
def test_a_secret_has_the_characters_that_telegram_takes(secret: str, fine: bool) -> None:
    assert is_valid_secret(secret) is fine


async def test_a_flood_of_refused_requests_is_one_line_per_reason(client: Client, caplog) -> None:
    for _ in range(20):
        await client.post(WEBHOOK_PATH, data=b"{}")
        await client.post(WEBHOOK_PATH, data=BytesIO(b"x" * (MAX_BODY_BYTES + 1)), headers=RIGHT)
    lines = [each.getMessage() for each in caplog.records if each.levelname == "WARNING" and each.name == "sophon"]
    assert [line.rpartition(" with ")[2] for line in lines] == ["a wrong secret", f"more than {MAX_BODY_BYTES} bytes"]
