from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from sophon.clock import SystemClock
from sophon.settings import Secret
from sophon_channels.whatsapp.channel import WhatsAppChannel
from sophon_channels.whatsapp.settings import WhatsAppSettings
from tests.channels.whatsapp.graph_api import NUMBER_ID, SECRET, TOKEN, WORD, GraphApi

ENVIRONMENT = {"TOKEN": TOKEN, "SECRET": SECRET, "WORD": WORD}


class Nobody:
    async def receive(self, events: Any) -> None:
        return


@pytest.fixture
async def graph() -> AsyncIterator[GraphApi]:
    graph = GraphApi()
    await graph.server.start_server()
    yield graph
    await graph.server.close()
    assert graph.problems == []


@pytest.fixture
async def make(graph: GraphApi) -> AsyncIterator[Callable[..., Any]]:
    """Channels at that server, not started."""
    made: list[WhatsAppChannel] = []

    def make(
        environment: dict[str, str] | None = None, clock: Any = None, webhook_url: str | None = None, **changes: Any
    ) -> WhatsAppChannel:
        settings = WhatsAppSettings(
            enabled=True,
            phone_number_id=changes.pop("phone_number_id", NUMBER_ID),
            access_token=Secret("TOKEN", "$env"),
            app_secret=Secret("SECRET", "$env"),
            verify_token=Secret("WORD", "$env"),
            api_base=graph.url,
            **changes,
        )
        variables = ENVIRONMENT | (environment or {})
        made.append(WhatsAppChannel(settings, variables, clock or SystemClock(), webhook_url=webhook_url))
        return made[-1]

    yield make
    for each in made:
        await each.stop()


@pytest.fixture
async def channel(make: Any) -> Any:
    """A channel at that server, started."""
    channel = make()
    await channel.start(Nobody())
    return channel
