"""A loopback Bot API server for every test, and a channel at it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from sophon.testing import VirtualClock
from sophon_channels.telegram.channel import TelegramChannel
from tests.channels.telegram.bot_api import BotApi
from tests.channels.telegram.parts import ENVIRONMENT, Box, settings

Open = Callable[..., Awaitable[TelegramChannel]]


@pytest.fixture
async def api() -> AsyncGenerator[BotApi]:
    async with BotApi().serving() as server:
        yield server
    assert server.problems == []


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.fixture
async def opened(api: BotApi, clock: VirtualClock, box: Box) -> AsyncGenerator[Open]:
    """Start a channel with these settings; it is stopped before its server."""
    channels: list[TelegramChannel] = []

    async def opened(*, webhook_url: str | None = None, **fields: Any) -> TelegramChannel:
        channel = TelegramChannel(settings(api.base, **fields), ENVIRONMENT, clock, webhook_url=webhook_url)
        channels.append(channel)
        await channel.start(box)
        return channel

    yield opened
    for channel in channels:
        await channel.stop()
