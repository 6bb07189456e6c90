"""CPU time of a host per streamed token: from a provider over HTTP, at the pace of real ones, to a Socket.IO client.

`python -m tests.bench.token_flow` prints it alone.
"""

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from sophon import Services
from sophon.models.model import ModelInfo
from sophon.models.providers.openai.model import OpenAIModel
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.hub.hub import Hub
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve
from tests.bench.hubs import hear, served
from tests.bench.provider import provider

PACES = ((100, 300, 150.0), (1000, 2000, 40.0), (0, 20_000, 6.0))
"""Tokens a second (0: as fast as they come), tokens of an answer, and the goal in microseconds of CPU time."""
TURNS = 3


@asynccontextmanager
async def host_over(url: str, folder: Path) -> AsyncIterator[tuple[str, Callable[[str], Awaitable[None]]]]:
    """The address of a host over SQLite whose models answer at the paces, and how a message is sent to one of them."""
    names = [f"paced-{rate}-{count}" for rate, count, _ in PACES]
    models = [OpenAIModel(ModelInfo(name, name), base_url=url) for name in names]
    store = host_store_from_url("sqlite:///bench.db", folder=folder)
    services = Services(models=models, store=store, settings={"Planning": {"Mode": "Never"}})
    host = Host(services, twelve(services))
    async with host:
        await services.gateway.warm_up()
        await services.store.sessions.get_or_create("bench", "local")
        app = web.Application()
        hub = Hub(host, TokenAuthenticator({}))
        hub.attach(app)

        async def send(model: str) -> None:
            await host.accept(RunRequest("go", "bench", "local", stream=True, model=model))

        async with served(app) as address:
            yield address, send
            await hub.stop()


async def microseconds_per_token() -> dict[int, float]:
    """Pace -> CPU time of the host per token, the median of some answers."""
    found: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with provider() as url, host_over(url, Path(folder)) as (address, send):
            for rate, count, _ in PACES:
                samples: list[float] = []
                for _ in range(TURNS + 1):
                    async with hear(address) as heard:
                        gc.collect()
                        began = time.process_time()
                        await send(f"paced-{rate}-{count}/paced-{rate}-{count}")
                        await heard()
                        samples.append((time.process_time() - began) / count * 1e6)
                found[rate] = statistics.median(samples[1:])
    return found


async def bare_microseconds_per_token() -> dict[int, float]:
    """The same streams, read by asyncio alone, which does nothing with them."""
    found: dict[int, float] = {}
    async with provider() as url:
        for rate, count, _ in PACES:
            found[rate] = statistics.median([await _read(url, rate, count) for _ in range(TURNS)])
    return found


async def _read(url: str, rate: int, count: int) -> float:
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
    body = b'{"model":"paced-%d-%d","stream":true}' % (rate, count)
    began = time.process_time()
    writer.write(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    tail = b""
    while not tail.endswith(b"0\r\n\r\n"):
        tail = (tail + await reader.read(65536))[-5:]
    spent = time.process_time() - began
    writer.close()
    return spent / count * 1e6


async def measure() -> None:
    """Print each pace with its goal, beside a bare reader of the same stream."""
    ours, bare = await microseconds_per_token(), await bare_microseconds_per_token()
    for rate, _, goal in PACES:
        pace = f"at {rate:,} a second" if rate else "as fast as they come"
        name, base = f"CPU of the host per token, {pace} (goal {goal:g})", bare[rate]
        ratio = ours[rate] / base
        print(f"{name:<58}{ours[rate]:>10.1f} us    {'bare asyncio, read only':<32}{base:>9.1f} us    {ratio:>7.1f}x")


if __name__ == "__main__":
    asyncio.run(measure())
