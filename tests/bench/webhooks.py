"""How soon a webhook is answered while the queue is full: the platform counts that, and delivers again what is late."""

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from sophon import ModelRequest, Services
from sophon.stores.factory import store_from_url
from sophon.testing import FunctionModel
from sophon_channels.whatsapp.signature import sign_body
from sophon_hosting.host_server import HostServer, bind_address
from tests.channels.whatsapp.graph_api import NUMBER_ID, SECRET, TOKEN, WORD, GraphApi
from tests.channels.whatsapp.test_parsing import body, message

POSTS = 300
STORES = ("memory://", "sqlite:///webhooks.db")


async def measure() -> None:
    """Print the median and the slowest of a hundred, for each store."""
    for url in STORES:
        graph = GraphApi()
        await graph.server.start_server()
        with tempfile.TemporaryDirectory() as folder:
            times = sorted(await answered(graph, url, Path(folder)))
        await graph.server.close()
        median, p99 = statistics.median(times), times[int(len(times) * 0.99)]
        what = f"a webhook with a full queue, {url.partition(':')[0]}: median, p99"
        print(f"{what:<58}{median * 1000:>10.1f} ms    p99 {p99 * 1000:.1f} ms, target: under 250 ms")


async def answered(graph: GraphApi, store: str, folder: Path) -> list[float]:
    """Seconds of each post."""
    gate = asyncio.Event()

    async def wait(request: ModelRequest) -> str:
        await gate.wait()
        return "at last"

    settings: dict[str, Any] = {
        "Planning": {"Mode": "Never"},
        "AgentExecution": {"Titles": False},
        "Channels": {"WhatsApp": _whatsapp(graph)},
    }
    kept = store_from_url(store, folder=folder)
    secrets = {"TOKEN": TOKEN, "SECRET": SECRET, "WORD": WORD}
    site = HostServer(Services(models=FunctionModel(wait), settings=settings, store=kept), secrets)
    address = bind_address("127.0.0.1", 0)
    await site.start(address)
    try:
        async with httpx.AsyncClient(base_url=address.url, trust_env=False, timeout=30) as client:
            while (await client.get("/api/channels")).json()["items"][0]["state"] != "running":
                pass  # until then a webhook is answered with 503, and delivered again
            return [await _post(client, number) for number in range(POSTS)][120:]
    finally:
        gate.set()
        await site.shutdown(0)


async def _post(client: httpx.AsyncClient, number: int) -> float:
    content = json.dumps(body(message(id=f"wamid.{number}", timestamp="4102444800"))).encode()
    began = time.perf_counter()
    headers = {"X-Hub-Signature-256": sign_body(content, SECRET)}
    response = await client.post("/webhooks/whatsapp", content=content, headers=headers)
    response.raise_for_status()
    return time.perf_counter() - began


def _whatsapp(graph: GraphApi) -> dict[str, Any]:
    return {
        "Enabled": True,
        "PhoneNumberId": NUMBER_ID,
        "AccessToken": {"$env": "TOKEN"},
        "AppSecret": {"$env": "SECRET"},
        "VerifyToken": {"$env": "WORD"},
        "ApiBase": graph.url,
        "DirectPolicy": "Open",
    }
