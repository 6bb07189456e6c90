"""A real host that was started from a folder with settings, and a provider on loopback."""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web

from sophon import Services
from sophon.settings.loader import load_with_layers
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.factory import host_store_from_url

KEY = "sk-a-key-that-must-never-be-shown-0123456789"
TOKENS = {"ADA": "token-of-ada", "OLGA": "token-of-olga"}
USERS = [
    {"Id": "ada", "Token": {"$env": "ADA"}},
    {"Id": "olga", "Token": {"$env": "OLGA"}, "Operator": True},
]


@dataclass
class Provider:
    """A provider with OpenAI's API; `failure` is the response to every request."""

    url: str = ""
    models: list[str] = field(default_factory=lambda: ["gpt-5-mini", "text-embedding-3-small", "my-own"])
    failure: web.Response | None = None
    answer_failure: tuple[int, dict[str, Any]] | None = None
    keys: list[str | None] = field(default_factory=lambda: [])
    paths: list[str] = field(default_factory=lambda: [])

    async def handle(self, request: web.Request) -> web.Response:
        self.keys.append(request.headers.get("Authorization"))
        self.paths.append(request.path)
        if request.path.endswith("/models"):
            if self.failure is not None:
                return web.Response(
                    status=self.failure.status, body=self.failure.body, content_type=self.failure.content_type
                )
            if request.headers.get("Authorization") != f"Bearer {KEY}":
                error = {"message": f"Incorrect API key provided: {self.keys[-1]}", "code": "invalid_api_key"}
                return web.json_response({"error": error}, status=401)
            return web.json_response({"data": [{"id": name} for name in self.models]})
        if self.answer_failure is not None:
            status, error = self.answer_failure
            return web.json_response({"error": error}, status=status)
        asked = json.loads(await request.read())
        choice = {"message": {"role": "assistant", "content": f"{asked['model']} says OK"}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})


@asynccontextmanager
async def serve_provider() -> AsyncGenerator[Provider]:
    """A provider that listens."""
    found = Provider()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", found.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield found
    finally:
        await runner.cleanup()


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serve_provider() as found:
        yield found


@dataclass
class Started:
    """A host that runs."""

    site: HostServer
    url: str
    folder: Path
    clients: AsyncExitStack

    async def open(self, user: str, **headers: str) -> httpx.AsyncClient:
        """A client with a user's token."""
        sent = {"Authorization": f"Bearer {TOKENS[user.upper()]}", **headers}
        client = httpx.AsyncClient(base_url=self.url, headers=sent, trust_env=False, timeout=60)
        return await self.clients.enter_async_context(client)

    async def audit(self) -> list[dict[str, Any]]:
        """The changes in the audit log, newest first."""
        olga = await self.open("olga")
        items: list[dict[str, Any]] = (await olga.get("/api/audit", params={"event": "changed"})).json()["items"]
        return items


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Starts a host from the settings in a folder, as `sophon serve` does."""
    level = logging.getLogger().level
    async with AsyncExitStack() as stack:

        async def begin(environment: dict[str, str] | None = None, *, name: str = "", **sections: Any) -> Started:
            folder = tmp_path / name  # `name`: of one host of several
            folder.mkdir(exist_ok=True)
            values = {"Hub": {"Users": USERS}, "Store": {"Url": "memory://"}, **sections}
            (folder / "appsettings.json").write_text(json.dumps({"Sophon": values}))
            # Nobody listens there: discovery finds no Ollama.
            variables = {**TOKENS, "OLLAMA_HOST": "127.0.0.1:1", **(environment or {})}
            loaded = load_with_layers(folder=folder, environment=variables)
            services = Services.from_settings(
                loaded.settings, environment=variables, folder=folder, make_store=host_store_from_url
            )
            site = HostServer(services, variables, loaded=loaded)
            address = bind_address("127.0.0.1", 0)
            await site.start(address)
            stack.push_async_callback(site.shutdown, 0)
            return Started(site, address.url, folder, stack)

        yield begin
    logging.getLogger().setLevel(level)
