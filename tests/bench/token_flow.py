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

from aiohttp import web

from sophon import Services
from sophon.models.model import ModelInfo
from sophon.models.providers.openai.model import OpenAIModel
from sophon.stores.factory import store_from_url
from sophon_hosting.client_api.authentication import TokenAuthenticator
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.hub.hub import Hub
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
    store = store_from_url("sqlite:///bench.db", folder=folder)
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


async def measure() -> None:
    """Print each pace beside its goal."""
    found = await microseconds_per_token()
    for rate, _, goal in PACES:
        pace = f"at {rate:,} a second" if rate else "as fast as they come"
        name = f"CPU of the host per token, {pace}"
        print(f"{name:<58}{found[rate]:>10.1f} us    {'the goal':<32}{goal:>9.1f} us    {found[rate] / goal:>7.1f}x")


if __name__ == "__main__":
    asyncio.run(measure())
