"""Several bots and numbers on one host, kept apart, and a proxy of each channel."""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from sophon.clock import SystemClock
from sophon.errors import SettingsError
from sophon.settings import Secret
from sophon.settings.types.secret_references import SecretUrl
from sophon_channels.errors import ChannelError
from sophon_channels.proxy import resolve_proxy
from sophon_channels.telegram.channel import TelegramChannel
from sophon_channels.telegram.settings import TelegramSettings
from sophon_channels.whatsapp.channel import WhatsAppChannel
from sophon_channels.whatsapp.settings import WhatsAppSettings
from sophon_hosting.channels.channel_factory import create_channels
from sophon_hosting.host_server import HostServer, bind_address
from tests.channels.telegram.bot_api import TOKEN as BOT_TOKEN
from tests.channels.telegram.bot_api import BotApi
from tests.channels.whatsapp.graph_api import NUMBER_ID, GraphApi
from tests.channels.whatsapp.graph_api import TOKEN as ACCESS_TOKEN
from tests.hosting.channels.test_platforms import ADA, ENVIRONMENT, graph, services, update

__all__ = ["graph"]

OTHER_TOKEN = "654321:TEST-token_abcdefghijklmnopqrstuvwx"
VARIABLES = {**ENVIRONMENT, "OTHER": OTHER_TOKEN}


@pytest.fixture
async def bots() -> AsyncIterator[list[BotApi]]:
    async with BotApi().serving() as first, BotApi(token=OTHER_TOKEN).serving() as second:
        yield [first, second]
    assert first.problems + second.problems == []


def telegram(api: BotApi, variable: str, **more: Any) -> dict[str, Any]:
    return {"Enabled": True, "Token": {"$env": variable}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])], **more}


async def test_the_conversations_of_two_bots_with_one_person_are_kept_apart(bots: list[BotApi]) -> None:
    first, second = bots
    made = services(Telegram=telegram(first, "BOT"), TelegramBots={"ops": telegram(second, "OTHER")})
    site = HostServer(made, VARIABLES)
    await site.start(bind_address("127.0.0.1", 0))
    try:
        await first.deliver(update(1, "to the first"))
        await second.deliver(update(1, "to the second"))
        [one], [two] = await first.called("sendMessage"), await second.called("sendMessage")
        sessions = {each.id: each.owner for each in await made.store.sessions.list()}
    finally:
        await site.shutdown(0)
    assert (one["text"], two["text"]) == ("You said: <b>to the first</b>", "You said: <b>to the second</b>")
    person = ADA["id"]
    assert sessions == {
        f"telegram-{person}": f"telegram:{person}",
        f"telegram-ops-{person}": f"telegram-ops:{person}",
    }


def test_each_has_a_webhook_of_its_own() -> None:
    secret = {"$env": "HOOK"}
    webhook = {"Enabled": True, "Mode": "Webhook", "WebhookSecret": secret}
    number = {"Enabled": True, "AccessToken": {"$env": "TOKEN"}, "AppSecret": {"$env": "SECRET"}, "VerifyToken": secret}
    made = services(
        TelegramBots={"ops": {**webhook, "Token": {"$env": "OTHER"}}},
        WhatsAppNumbers={"sales": {**number, "PhoneNumberId": "1"}, "help": {**number, "PhoneNumberId": "2"}},
    )
    paths = {route.path for each in create_channels(made, VARIABLES) for route in each.channel.routes()}
    assert paths == {"/webhooks/telegram-ops", "/webhooks/whatsapp-sales", "/webhooks/whatsapp-help"}


def test_one_bot_as_two_channels_is_an_error_at_the_start() -> None:
    bot = {"Enabled": True, "Token": {"$env": "BOT"}}
    with pytest.raises(SettingsError, match="'telegram' and 'telegram-ops' have the same account, 123456"):
        create_channels(services(Telegram=bot, TelegramBots={"ops": bot}), VARIABLES)


@pytest.mark.parametrize("name", ["Ops", "a-b", "5", "", "x" * 17])
def test_a_name_that_no_channel_can_have_is_an_error_of_the_settings(name: str) -> None:
    with pytest.raises(SettingsError, match="is no name"):
        services(TelegramBots={name: {}})


class Proxy:
    """A forward proxy that keeps what passed."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.status = 0
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._forward)
        self.server = TestServer(app)

    async def _forward(self, request: web.Request) -> web.Response:
        self.passed.append(request.raw_path)
        if self.status:
            return web.Response(status=self.status)
        kept = {name: value for name, value in request.headers.items() if name in ("Content-Type", "Authorization")}
        async with (
            ClientSession() as http,
            http.request(request.method, request.raw_path, data=await request.read(), headers=kept) as answer,
        ):
            return web.Response(status=answer.status, body=await answer.read(), content_type=answer.content_type)


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    proxy = Proxy()
    await proxy.server.start_server()
    yield proxy
    await proxy.server.close()


async def test_every_request_of_a_channel_goes_through_its_proxy(
    bots: list[BotApi], graph: GraphApi, proxy: Proxy
) -> None:
    url = SecretUrl(str(proxy.server.make_url("/")))
    bot = TelegramChannel(
        TelegramSettings(token=Secret(BOT_TOKEN), api_base=bots[0].base, proxy=url), {}, SystemClock()
    )
    assert (await bot.run_self_test())[0].ok
    assert [each.removeprefix(bots[0].base) for each in proxy.passed] == [
        f"/bot{BOT_TOKEN}/getMe",
        f"/bot{BOT_TOKEN}/getWebhookInfo",
    ]
    proxy.passed.clear()
    hidden: dict[str, Any] = {
        "access_token": Secret(ACCESS_TOKEN),
        "app_secret": Secret("s"),
        "verify_token": Secret("w"),
    }
    settings = WhatsAppSettings(phone_number_id=NUMBER_ID, api_base=graph.url, proxy=url, **hidden)
    assert (await WhatsAppChannel(settings, {}, SystemClock()).run_self_test())[0].ok
    assert [each.partition("?")[0] for each in proxy.passed] == [f"{graph.url}/{NUMBER_ID}"]


async def test_a_proxy_that_does_not_let_through_is_reported_and_nothing_goes_past_it(
    bots: list[BotApi], proxy: Proxy
) -> None:
    proxy.status = 502
    url = SecretUrl(str(proxy.server.make_url("/")))
    settings = TelegramSettings(token=Secret(BOT_TOKEN), api_base=bots[0].base, proxy=url)
    [result] = await TelegramChannel(settings, {}, SystemClock()).run_self_test()
    assert not result.ok
    assert bots[0].calls == []


class SocksProxy:
    """A SOCKS5 proxy (RFC 1928, without authentication) that keeps where clients wanted to."""

    def __init__(self) -> None:
        self.passed: list[tuple[str, int]] = []
        self.refuses = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"socks5://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        version, count = await reader.readexactly(2)
        assert (version, 0 in await reader.readexactly(count)) == (5, True)
        writer.write(b"\x05\x00")
        version, command, _, kind = await reader.readexactly(4)
        assert (version, command) == (5, 1)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.passed.append((host, port))
        if self.refuses:
            writer.write(b"\x05\x02\x00\x01" + bytes(6))
            writer.close()
            return
        outside, onward = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        self._tasks |= {asyncio.create_task(_pass(reader, onward)), asyncio.create_task(_pass(outside, writer))}


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            target.write(data)
    finally:
        target.close()


@pytest.fixture
async def socks() -> AsyncIterator[tuple[SocksProxy, SecretUrl]]:
    proxy = SocksProxy()
    yield proxy, SecretUrl(await proxy.start())
    await proxy.close()


async def test_a_socks_proxy_gets_every_connection_and_the_names(
    bots: list[BotApi], graph: GraphApi, socks: tuple[SocksProxy, SecretUrl]
) -> None:
    proxy, url = socks
    base = bots[0].base.replace("127.0.0.1", "bots.invalid")
    bot = TelegramChannel(TelegramSettings(token=Secret(BOT_TOKEN), api_base=base, proxy=url), {}, SystemClock())
    assert (await bot.run_self_test())[0].ok
    assert {host for host, _ in proxy.passed} == {"bots.invalid"}
    proxy.passed.clear()
    secrets = {"access_token": Secret(ACCESS_TOKEN), "app_secret": Secret("s"), "verify_token": Secret("w")}
    graph_base = graph.url.replace("127.0.0.1", "graph.invalid")
    settings = WhatsAppSettings(phone_number_id=NUMBER_ID, api_base=graph_base, proxy=url, **secrets)  # type: ignore[arg-type]
    assert (await WhatsAppChannel(settings, {}, SystemClock()).run_self_test())[0].ok
    assert {host for host, _ in proxy.passed} == {"graph.invalid"}


@pytest.mark.parametrize("trouble", ["refuses", "gone"])
async def test_a_socks_proxy_that_does_not_let_through_is_reported(
    bots: list[BotApi], socks: tuple[SocksProxy, SecretUrl], trouble: str
) -> None:
    proxy, url = socks
    proxy.refuses = True
    if trouble == "gone":
        await proxy.close()
    settings = TelegramSettings(token=Secret(BOT_TOKEN), api_base=bots[0].base, proxy=url)
    [result] = await TelegramChannel(settings, {}, SystemClock()).run_self_test()
    assert not result.ok
    assert "no connection" in f"{result.summary} {result.fix}"
    assert bots[0].calls == []


def test_socks_without_its_package_says_what_to_install() -> None:
    with pytest.raises(ChannelError, match=r'pip install "sophon-agents\[socks\]"'):
        resolve_proxy(Secret("socks5://127.0.0.1:1080"), {}, "Telegram", socks_package="not_installed_here")


@pytest.mark.parametrize(
    "url", ["socks4://127.0.0.1:1080", "socks5://127.0.0.1", "proxy.example", "http://", "http://a:b"]
)
def test_what_is_no_proxy_stops_the_channel(url: str) -> None:
    with pytest.raises(ChannelError, match="is no proxy"):
        resolve_proxy(Secret(url), {}, "Telegram", socks_package="aiohttp_socks")
    with pytest.raises(ChannelError, match="NOWHERE is missing or empty"):
        resolve_proxy(Secret("NOWHERE", "$env"), {}, "Telegram", socks_package="aiohttp_socks")
