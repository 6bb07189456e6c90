"""A whole host in WhatsApp's quiet hours: a person is answered, and what a webhook reports waits."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from sophon import Services
from sophon.testing import FunctionModel
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.channels.whatsapp.graph_api import SECRET, GraphApi
from tests.channels.whatsapp.test_parsing import body, message
from tests.hosting.channels.test_platforms import ENVIRONMENT, SOON, answer, graph, post, ready, whatsapp

__all__ = ["graph"]

ADA = "15550002222"


@pytest.fixture
async def quiet(graph: GraphApi) -> AsyncIterator[tuple[httpx.AsyncClient, SqlHostStore]]:
    """A client of a host whose quiet hours are those around the present time, and its store."""
    now = datetime.now(UTC)
    window = [f"{now + timedelta(hours=hours):%H:%M}" for hours in (-1, 2)]
    webhook = {
        "Id": "ci",
        "Secret": {"$env": "SECRET"},
        "Instructions": "Say hello",
        "Deliver": {"Channel": "whatsapp", "Chat": ADA},
    }
    store = SqlHostStore("memory://")
    services = Services(
        store=store,
        models=FunctionModel(answer),
        settings={
            "Planning": {"Mode": "Never"},
            "AgentExecution": {"Titles": False},
            "Channels": {"WhatsApp": {**whatsapp(graph), "QuietHours": window}},
            "Webhooks": {"Incoming": [webhook]},
        },
    )
    site, address = HostServer(services, ENVIRONMENT), bind_address("127.0.0.1", 0)
    await site.start(address)
    async with httpx.AsyncClient(base_url=address.url, trust_env=False, timeout=30) as client:
        await ready(client)
        yield client, store
    await site.shutdown(0)


async def report(client: httpx.AsyncClient) -> int:
    content = b'{"build": "red"}'
    signature = hmac.new(SECRET.encode(), content, hashlib.sha256).hexdigest()
    headers = {"X-Sophon-Signature": f"sha256={signature}", "Content-Type": "application/json"}
    return (await client.post("/webhooks/receive/ci", content=content, headers=headers)).status_code


async def until_held(store: SqlHostStore) -> Any:
    async with asyncio.timeout(30):
        while not (held := await store.outbox.list(status="held")):
            await asyncio.sleep(0)
    return held[0]


async def test_a_report_waits_for_the_end_and_an_answer_does_not(
    quiet: tuple[httpx.AsyncClient, SqlHostStore], graph: GraphApi
) -> None:
    client, store = quiet
    assert await report(client) == 202
    held = await until_held(store)
    assert (held.chat, held.attempts) == (ADA, 0)
    assert held.not_before is not None
    assert held.not_before > datetime.now(UTC) + timedelta(hours=1)

    said = body(message(id="wamid.W1", timestamp=str(SOON), text={"body": "hello"}))
    assert await post(client, said) == 200
    await graph.until(1)
    assert [each["text"]["body"] for each in graph.messages] == ["You said: *hello*"]
    assert (await store.outbox.get(held.id)).status == "held"
