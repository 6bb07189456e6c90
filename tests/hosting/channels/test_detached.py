"""A channel that is refused five times is detached: it is reported, and attached again when an operator asks."""

import asyncio
import logging
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from sophon.errors import NotFound
from sophon_channels.contract import Inbox
from sophon_channels.errors import ChannelError
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels import connected_channel
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.fanout.contract import Wake
from sophon_hosting.fanout.local_fanout import LocalFanout, LocalNetwork
from sophon_hosting.http.app import HttpOptions, make_app
from sophon_hosting.settings.hub import HubSettings


class Refused(SyntheticChannel):
    """A channel whose platform refuses the credential until that is correct."""

    def __init__(self) -> None:
        super().__init__()
        self.tries, self.is_correct = 0, False
        self.tried = asyncio.Condition()

    async def start(self, inbox: Inbox) -> None:
        async with self.tried:
            self.tries += 1
            self.tried.notify_all()
        if not self.is_correct:
            raise ChannelError("the token is wrong")
        await super().start(inbox)

    async def until_tried(self, times: int) -> None:
        async with asyncio.timeout(30), self.tried:
            await self.tried.wait_for(lambda: self.tries >= times)


async def until_detached(channel: SyntheticChannel) -> None:
    async with asyncio.timeout(30):
        while channel.health.state != "detached":
            await asyncio.sleep(0)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first four delays take no time; the fifth never ends within a test."""

    def find_delay(rejections: int) -> float:
        return 0.0 if rejections < 5 else 600.0

    monkeypatch.setattr(connected_channel, "credential_delay", find_delay)


async def test_after_five_refused_starts_a_channel_is_detached_until_it_is_attached_again(
    start: Any, quick: None, caplog: pytest.LogCaptureFixture
) -> None:
    running = await start(channel=Refused())
    await until_detached(running.channel)
    assert running.channel.tries == 5
    assert running.host.list_detached_channels() == ["synthetic"]
    assert running.channel.health.detail == "the token is wrong"
    assert sum("is detached after 5" in each.getMessage() for each in caplog.records if each.levelno == logging.ERROR)
    running.channel.is_correct = True
    assert running.switchboard.attach("synthetic")
    await running.channel.until_tried(6)
    await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("You said: hello")
    assert running.host.list_detached_channels() == []
    assert not running.switchboard.attach("synthetic"), "one that runs is left alone"


async def test_readiness_names_it_and_an_operator_attaches_it_over_http(start: Any, quick: None) -> None:
    running = await start(channel=Refused())
    await until_detached(running.channel)
    options = HttpOptions(channels=running.switchboard._channels.channels, attach_channel=running.switchboard.attach)
    settings = running.host.services.settings
    app = make_app(running.host, TokenAuthenticator.from_settings(settings.section(HubSettings), {}), options)
    async with TestClient(TestServer(app)) as client:
        ready = await (await client.get("/readyz")).json()
        assert ready["checks"]["channels"] == "degraded: detached: synthetic"
        assert ready["status"] == "ready", "what comes over the others is answered"
        [row] = (await (await client.get("/api/channels")).json())["items"]
        assert row["state"] == "detached"
        running.channel.is_correct = True
        answer = await client.post("/api/channels/synthetic/attach")
        assert await answer.json() == {"name": "synthetic", "attached": True}
        await running.channel.until_tried(6)
        assert (await client.post("/api/channels/telegam/attach")).status == 404


async def test_the_process_that_leads_it_starts_it_whichever_process_is_asked(start: Any, quick: None) -> None:
    network = LocalNetwork()
    leading = await start(channel=Refused(), fanout=LocalFanout(network))
    asked = await start(fanout=LocalFanout(network))
    await until_detached(leading.channel)
    leading.channel.is_correct = True
    assert not asked.switchboard.attach("synthetic")
    await leading.channel.until_tried(6)
    await leading.channel.deliver_message("hello")
    await leading.channel.wait_for_text("You said: hello")


async def test_a_hint_for_a_channel_that_this_process_has_not_is_ignored(start: Any, quick: None) -> None:
    network = LocalNetwork()
    leading = await start(channel=Refused(), fanout=LocalFanout(network))
    await until_detached(leading.channel)
    for what in ("attach:other", "outbox", "attach:synthetic"):
        network.pass_on(LocalFanout(network), Wake(what))
    await leading.channel.until_tried(6)


async def test_a_channel_that_there_is_not_cannot_be_attached(start: Any) -> None:
    running = await start()
    with pytest.raises(NotFound, match="there is no channel 'telegram'"):
        running.switchboard.attach("telegram")
