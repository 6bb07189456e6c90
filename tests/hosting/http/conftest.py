"""The API of a real host on loopback, with three users; the model does what a message says."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon._python.rate_limited_log import RateLimitedLog
from sophon.testing import FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator, User
from sophon_hosting.client_api.client_address import TrustedProxies
from sophon_hosting.features.registry import list_session_prefixes
from sophon_hosting.host import Host
from sophon_hosting.http.app import HttpOptions, make_app
from sophon_hosting.http.connections.limiter import ConnectionLimiter
from sophon_hosting.http.connections.limits import ConnectionLimits
from sophon_hosting.http.connections.listener import Listener
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.hosting.features.declared_results import ResultCheck

USERS = {
    "token-of-ada": User("ada"),
    "token-of-bob": User("bob"),
    "token-of-olga": User("olga", operator=True),
}


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


class Api:
    """Requests as one user."""

    def __init__(
        self, host: Host, url: str, release: asyncio.Event, limiter: ConnectionLimiter, refused: list[str]
    ) -> None:
        self.host, self.url, self.release, self.limiter, self.refused = host, url, release, limiter, refused
        self._clients = AsyncExitStack()

    async def open(self, user: str | None, **headers: str) -> httpx.AsyncClient:
        """A client with a user's token, or with none."""
        if user is not None:
            headers["Authorization"] = f"Bearer token-of-{user}"
        return await self._clients.enter_async_context(
            httpx.AsyncClient(base_url=self.url, headers=headers, trust_env=False, timeout=30)
        )

    async def until(self, task_id: str, *wanted: str) -> None:
        """Let the host work until a task has one of these states."""
        async with asyncio.timeout(60):
            while (await self.host.services.store.runs.get(task_id)).status not in wanted:
                await asyncio.sleep(0)

    async def until_connections(self, count: int) -> None:
        """Wait until so many connections are open."""
        async with asyncio.timeout(60):
            while len(self.limiter) != count:
                await asyncio.sleep(0)

    async def raw(self, sent: bytes, *, hang_up: bool = False) -> bytes:
        """What is answered to bytes that no client would send; with `hang_up` nothing follows them."""
        reader, writer = await asyncio.open_connection("127.0.0.1", int(self.url.rpartition(":")[2]))
        try:
            writer.write(sent)
            if hang_up:
                writer.write_eof()
            async with asyncio.timeout(60):
                return await reader.read()
        finally:
            writer.close()

    async def close(self) -> None:
        await self._clients.aclose()


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Any]]:
    """Starts a host with an API, served as `HostServer` does; `users=False` is one that everybody on this machine may
    use.
    """
    stack, results = AsyncExitStack(), ResultCheck()

    async def start(
        *,
        users: bool = True,
        settings: dict[str, Any] | None = None,
        models: Any = None,
        clock: Any = None,
        more: Sequence[web.RouteDef] = (),
        web_folder: Path | None = None,
        limits: ConnectionLimits | None = None,
        prepare_app: Callable[[Host, web.Application], object] = lambda host, app: None,
    ) -> Api:
        release = asyncio.Event()

        @tool()
        async def stubborn() -> str:
            """Wait, and take no notice of whoever wants it to stop."""
            with suppress(asyncio.CancelledError):
                await release.wait()
            await release.wait()
            return "done"

        async def answer(request: ModelRequest) -> str | ModelResponse:
            last = request.messages[-1]
            if last.content.startswith("pay"):
                return ModelResponse("", [ToolCall("c", "pay", {"to": last.content[4:]})])
            if last.content == "insist":
                return ModelResponse("", [ToolCall("c", "stubborn", {})])
            if last.content == "wait":
                await release.wait()
            return last.content.upper()

        services = Services(
            models=models or FunctionModel(answer),
            tools=[pay, stubborn],
            clock=clock,
            settings={"Planning": {"Mode": "Never"}, **(settings or {})},
            store=SqlHostStore("memory://", clock=clock),
        )
        access = TokenAuthenticator(USERS if users else {})
        host = await stack.enter_async_context(
            Host(services, twelve(services), approvers=access.operator_ids, session_prefixes=list_session_prefixes())
        )

        async def metrics() -> bytes:
            return b"sophon_up 1\n"

        app = make_app(host, access, HttpOptions(render_metrics=metrics, web_folder=web_folder or Path("no page")))
        app.add_routes(more)
        app.middlewares.append(results.middleware)
        prepare_app(host, app)
        refused: list[str] = []
        limiter = ConnectionLimiter(limits or ConnectionLimits(), refused.append)
        listener = Listener(limiter, TrustedProxies(), RateLimitedLog(logging.getLogger("sophon")))
        runner = web.AppRunner(app, **listener.runner_options)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        bound = socket.create_server(("127.0.0.1", 0))
        await listener.start(runner, bound)
        stack.callback(listener.close)
        api = Api(host, f"http://127.0.0.1:{bound.getsockname()[1]}", release, limiter, refused)
        stack.push_async_callback(api.close)
        return api

    yield start
    await stack.aclose()
    assert not results.problems, "\n".join(results.problems)


@pytest.fixture
async def api(serve: Callable[..., Any]) -> Api:
    return await serve()


@pytest.fixture
async def ada(api: Api) -> httpx.AsyncClient:
    return await api.open("ada")


@pytest.fixture
async def bob(api: Api) -> httpx.AsyncClient:
    return await api.open("bob")


@pytest.fixture
async def olga(api: Api) -> httpx.AsyncClient:
    return await api.open("olga")
