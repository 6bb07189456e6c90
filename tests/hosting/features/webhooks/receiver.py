"""A real HTTP server that receives webhooks."""

import asyncio
import json
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from sophon.clock import SystemClock
from sophon_hosting.features.webhooks.signatures import is_signed

SECRET = "another secret of some length"
PATIENCE_SECONDS = 30


class Receiver:
    """Notes what it gets. `answers` are the next responses, as (status, headers); then 200."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.ids: list[str] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self._news = asyncio.Condition()
        app = web.Application()
        app.router.add_post("/hook", self._handle)
        self._server = TestServer(app)

    async def __aenter__(self) -> "Receiver":
        await self._server.start_server()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()

    @property
    def url(self) -> str:
        return str(self._server.make_url("/hook"))

    async def until(self, number: int) -> list[dict[str, Any]]:
        """Wait until so many requests have arrived."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._news:
            await self._news.wait_for(lambda: len(self.received) >= number)
        return self.received

    async def _handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        for scheme in ("Standard", "Sophon"):
            assert is_signed(scheme, request.headers, body, SECRET, SystemClock().now())
        assert request.headers["X-Sophon-Event"] == json.loads(body)["event"]
        async with self._news:
            self.received.append(json.loads(body))
            self.ids.append(request.headers["webhook-id"])
            self._news.notify_all()
        status, headers = self.answers.pop(0) if self.answers else (200, {})
        return web.Response(status=status, headers=headers)
