"""A server on loopback that speaks the API of the adapter that asks it, and the adapters: all have to do the same."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest
from aiohttp import web

from sophon.messages import Message
from sophon.models.model import ModelInfo, ModelRequest, ModelResponse
from sophon.models.providers.anthropic.model import AnthropicModel
from sophon.models.providers.litellm.model import LiteLLMModel
from sophon.models.providers.ollama.model import OllamaModel
from sophon.models.providers.openai.model import OpenAIModel
from sophon.tools.tool import Tool, tool
from tests.loop_time import LoopTime
from tests.sophon.models.dialects import DIALECTS, OpenAI

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
SILENCE_SECONDS = 60.0
"""Longer than any adapter of a test waits."""

PASSES = 100
"""Passes of the event loop in which a client has long read what was sent."""

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}}


@dataclass
class Seen:
    """A request as it arrived; `body` in OpenAI's form, whatever the API."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    raw: bytes
    key: str | None = None


@dataclass
class Server:
    """Plays the answers it was given, one per request; `hung_up` is set when a client leaves in mid-answer."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    script: list[Handler] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    dialect: OpenAI = field(default_factory=OpenAI)
    time: LoopTime | None = None
    """Where set, a client that waits for an answer that does not come has soon waited SILENCE_SECONDS."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = self.dialect.read(json.loads(raw)) if raw else {}
        self.seen.append(Seen(request.path, request.headers, body, raw, self.dialect.key(request.headers)))
        if not self.script:
            return web.json_response({"error": {"message": "the script is at its end"}}, status=418)
        try:
            return await self.script.pop(0)(request)
        except asyncio.CancelledError:
            self.hung_up.set()
            raise

    async def left(self) -> None:
        """Returns once a client has hung up in mid-answer; a client that stays is a failure."""
        async with asyncio.timeout(30):
            await self.hung_up.wait()

    def says(self, text: str | None, **more: Any) -> None:
        """A whole answer; `more` goes into its message."""
        self.answers(whole({"role": "assistant", "content": text, **more}))

    def answers(self, body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Any JSON."""

        async def answer(_: web.Request) -> web.StreamResponse:
            return web.json_response(self.dialect.whole(body), status=status, headers=dict(headers or {}))

        self.script.append(answer)

    def refuses(self, status: int, message: str = "no", **headers: str) -> None:
        """An error as OpenAI writes it; header names have underscores here."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers({"error": {"message": message, "type": "some_error", "code": None}}, status, named)

    def streams(self, *pieces: Mapping[str, Any] | bytes | str, end: str = "done") -> None:
        """A stream of chunks (a text is a delta, bytes go out as they are).

        It ends with `done` (and the mark), `close`, `cut` (the connection breaks), or not at all: `hang`.
        """

        async def answer(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"content-type": self.dialect.stream_type})
            await response.prepare(request)
            stream = self.dialect.stream()
            for piece in pieces:
                if data := stream.feed(piece if isinstance(piece, bytes) else chunk_of(piece)):
                    await response.write(data)
            await self._end(request, response, end, stream)
            return response

        self.script.append(answer)

    def hangs(self) -> None:
        """No answer at all."""

        async def answer(_: web.Request) -> web.StreamResponse:
            await self._fall_silent()
            raise AssertionError("unreachable")

        self.script.append(answer)

    async def _fall_silent(self) -> None:
        if self.time is not None:
            for _ in range(PASSES):
                await asyncio.sleep(0)
            self.time.advance(SILENCE_SECONDS)
        await asyncio.Event().wait()

    async def _end(self, request: web.Request, response: web.StreamResponse, end: str, stream: Any) -> None:
        if end != "hang" and (data := stream.end(is_marked=end == "done")):
            await response.write(data)
        if end == "hang":
            await self._fall_silent()
        if end == "cut":
            assert request.transport is not None
            # What was written has to leave before the connection breaks.
            request.transport.write_eof() if request.transport.can_write_eof() else request.transport.close()
            return
        await response.write_eof()


def whole(message: Mapping[str, Any], finish: str | None = None, usage: Any = USAGE) -> dict[str, Any]:
    reason = finish or ("tool_calls" if message.get("tool_calls") else "stop")
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {**head("chat.completion"), "choices": [choice], "usage": usage}


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call_piece(index: int, arguments: str, name: str | None = None, call_id: str | None = None) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    piece = {"index": index, "function": function} | ({"id": call_id, "type": "function"} if call_id else {})
    return chunk(tool_calls=[piece])


def chunk_of(piece: Mapping[str, Any] | str) -> dict[str, Any]:
    body = chunk(content=piece) if isinstance(piece, str) else piece
    return {**head("chat.completion.chunk"), **body}


def event(piece: Mapping[str, Any] | str) -> bytes:
    return b"data: " + json.dumps(chunk_of(piece)).encode() + b"\n\n"


def head(kind: str) -> dict[str, Any]:
    return {"id": "c1", "object": kind, "created": 1, "model": "m"}


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[], Awaitable[Server]]]:
    """Starts servers; they stop with the test."""
    runners: list[web.AppRunner] = []

    async def start() -> Server:
        server = Server()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", server.handle)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        runners.append(runner)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        server.url = f"http://{host}:{port}"
        return server

    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def server(serve: Callable[[], Awaitable[Server]]) -> Server:
    return await serve()


class Adapter(Protocol):
    @property
    def info(self) -> ModelInfo: ...
    async def complete(self, request: ModelRequest) -> ModelResponse: ...
    async def warm_up(self) -> None: ...
    async def aclose(self) -> None: ...


@dataclass
class Adapters:
    """Makes adapters of one kind, loaded and ready."""

    kind: str
    """`openai`, `litellm`, `anthropic` or `ollama`."""
    made: list[Adapter] = field(default_factory=list)

    async def at(self, server: Server, *, timeout_seconds: float = 30.0, **facts: Any) -> Adapter:
        info = ModelInfo(**({"name": "small", "provider": self.kind} | facts))
        url = f"{server.url}/v1"
        model: Adapter
        server.dialect = DIALECTS[self.kind]()
        if self.kind == "anthropic":
            model = AnthropicModel(info, base_url=server.url, timeout_seconds=timeout_seconds)
        elif self.kind == "ollama":
            model = OllamaModel(info, base_url=server.url, timeout_seconds=timeout_seconds)
        elif self.kind == "openai":
            model = OpenAIModel(info, base_url=url, timeout_seconds=timeout_seconds)
        else:
            name = f"openai/{info.name}"
            model = LiteLLMModel(info, litellm_name=name, base_url=url, timeout_seconds=timeout_seconds)
        self.made.append(model)
        await model.warm_up()
        if self.kind == "litellm":
            await load_for_first_call()
        return model


_loaded = False


async def load_for_first_call() -> None:
    """Load what litellm imports at its first call in worker threads: a virtual clock would take the wait for a hang."""
    global _loaded
    if not _loaded:
        _loaded = True
        model = LiteLLMModel(ModelInfo("m", "p"), litellm_name="openai/m", base_url="http://127.0.0.1:9/v1")
        with suppress(Exception):
            await model.complete(Kit.request(model))
        await model.aclose()


async def _adapters(kind: str) -> AsyncIterator[Adapters]:
    made = Adapters(kind)
    yield made
    for model in made.made:
        await model.aclose()


@pytest.fixture(params=["openai", "litellm", "anthropic", "ollama"])
async def adapters(request: pytest.FixtureRequest) -> AsyncIterator[Adapters]:
    async for made in _adapters(request.param):
        yield made


@pytest.fixture(params=["openai", "litellm"])
async def openai_adapters(request: pytest.FixtureRequest) -> AsyncIterator[Adapters]:
    """The adapters that speak OpenAI's API, for what other APIs do not have."""
    async for made in _adapters(request.param):
        yield made


@pytest.fixture(params=["openai", "litellm", "anthropic"])
async def filtered_adapters(request: pytest.FixtureRequest) -> AsyncIterator[Adapters]:
    """The adapters for providers with a content filter."""
    async for made in _adapters(request.param):
        yield made


@dataclass
class Kit:
    """What a test builds its requests and its server's chunks with."""

    @staticmethod
    def request(model: Adapter, *texts: str, **more: Any) -> ModelRequest:
        messages = [Message("user", text) for text in texts or ("Hello",)]
        return ModelRequest(**({"messages": messages, "tools": [], "model": model.info, "key": "sk-one"} | more))

    @staticmethod
    def clock_tool() -> Tool:
        @tool(name="time.now")
        async def now(zone: str) -> str:
            """Tell the time."""
            return zone

        return now

    chunk = staticmethod(chunk)
    call_piece = staticmethod(call_piece)
    event = staticmethod(event)
    whole = staticmethod(whole)
    usage: Mapping[str, Any] = field(default_factory=lambda: {"choices": [], "usage": USAGE})
    stop: Mapping[str, Any] = field(default_factory=lambda: STOP)

    @staticmethod
    def tool_calls(*calls: Sequence[str]) -> list[dict[str, Any]]:
        return [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, name, arguments in calls
        ]


@pytest.fixture
def kit() -> Kit:
    return Kit()
