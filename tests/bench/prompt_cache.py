"""Twenty turns of one session against a provider on loopback that caches the beginnings of prompts.

Two kinds of providers: one that caches every beginning by itself, as OpenAI's does, and one that caches what a request
marks, as Anthropic's does.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import orjson
from aiohttp import web

from sophon import Services
from sophon.models.gateway.provider import Provider
from sophon.models.model import Model, ModelInfo
from sophon.models.providers.anthropic.model import AnthropicModel
from sophon.models.providers.openai.model import OpenAIModel
from sophon_middlewares.chains import twelve

TURNS = 20
BYTES_PER_TOKEN = 4
LOOK_BACK = 20
"""Blocks before a mark in which Anthropic looks for what was cached before."""


class CachingProvider(Protocol):
    """Answers every request, and counts its input and the part of it that was cached."""

    path: str
    prompts: list[bytes]
    input_tokens: int
    cached_tokens: int

    async def answer(self, request: web.Request) -> web.Response: ...

    def model(self, url: str) -> Model: ...


class OpenAIProvider:
    """Reports the longest beginning that a prompt shares with an earlier one as cached.

    Compared are tools and messages in this order, in which providers read them.
    """

    path = "/v1/chat/completions"

    def __init__(self) -> None:
        self.prompts: list[bytes] = []
        self.input_tokens = 0
        self.cached_tokens = 0

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        prompt = b"\n".join(map(orjson.dumps, [body.get("tools"), *body["messages"]]))
        tokens = len(prompt) // BYTES_PER_TOKEN
        cached = max((shared_bytes(prompt, each) for each in self.prompts), default=0) // BYTES_PER_TOKEN
        self.prompts.append(prompt)
        self.input_tokens += tokens
        self.cached_tokens += cached
        message = {"role": "assistant", "content": reply(len(self.prompts))}
        usage = {"prompt_tokens": tokens, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": cached}}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})

    def model(self, url: str) -> Model:
        return OpenAIModel(model_info(), base_url=f"{url}/v1")


class AnthropicProvider:
    """Caches the prompt up to each mark, and reports the longest cached beginning near a mark as read.

    Without marks nothing is cached.
    """

    path = "/v1/messages"

    def __init__(self) -> None:
        self.prompts: list[bytes] = []
        self.input_tokens = 0
        self.cached_tokens = 0
        self.written_tokens = 0
        self.cache: set[bytes] = set()

    async def answer(self, request: web.Request) -> web.Response:
        blocks = prompt_blocks(await request.json())
        marks = [place for place, block in enumerate(blocks, start=1) if block.pop("cache_control", None)]
        if len(marks) > 4:
            raise web.HTTPBadRequest(text="a maximum of 4 blocks with cache_control may be provided")
        data = [orjson.dumps(block) for block in blocks]
        starts = {place: b"\n".join(data[:place]) for place in range(1, len(data) + 1)}
        looked_at = {place for mark in marks for place in range(max(1, mark - LOOK_BACK), mark + 1)}
        read = max((len(starts[place]) for place in looked_at if starts[place] in self.cache), default=0)
        written = max((len(starts[mark]) for mark in marks), default=0)
        self.cache |= {starts[mark] for mark in marks}
        prompt = starts[len(data)]
        self.prompts.append(prompt)
        tokens, cached = len(prompt) // BYTES_PER_TOKEN, read // BYTES_PER_TOKEN
        created = max(0, written - read) // BYTES_PER_TOKEN
        self.input_tokens += tokens
        self.cached_tokens += cached
        self.written_tokens += created
        usage = {
            "input_tokens": tokens - cached - created,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": created,
            "output_tokens": 50,
        }
        content = [{"type": "text", "text": reply(len(self.prompts))}]
        return web.json_response({"content": content, "stop_reason": "end_turn", "usage": usage})

    def model(self, url: str) -> Model:
        return AnthropicModel(model_info(), base_url=url)


def prompt_blocks(body: Any) -> list[dict[str, Any]]:
    """The blocks of a prompt in the order in which Anthropic reads them, each with its place."""
    parts: Sequence[tuple[str, Any]] = [
        *(("tools", block) for block in body.get("tools", ())),
        *(("system", block) for block in body.get("system", ())),
        *((message["role"], block) for message in body["messages"] for block in message["content"]),
    ]
    return [{"place": place, **block} for place, block in parts]


def model_info() -> ModelInfo:
    return ModelInfo("small", "loopback", prices=(1.0, 4.0), cached_input_price=0.1)


def reply(number: int) -> str:
    return f"This is reply number {number}. " * 10


def shared_bytes(one: bytes, other: bytes) -> int:
    """The length of the beginning that two prompts have in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


async def cached_share(provider: CachingProvider | None = None) -> tuple[float, float]:
    """The share of the input tokens that the provider had cached, and the share that a perfect client could have.

    The perfect client repeats each prompt whole.
    """
    provider = provider or OpenAIProvider()
    app = web.Application(client_max_size=2**26)
    app.router.add_post(provider.path, provider.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address: Any = runner.addresses[0]
    model = provider.model(f"http://127.0.0.1:{address[1]}")
    services = Services(models=[Provider("loopback", [model])], instructions="You are a helpful assistant. " * 40)
    chain = twelve(services)
    async with services:
        for number in range(TURNS):
            response = await chain.run(services.turn(f"Tell me about subject number {number}", session_id="s"))
            assert number == 0 or response.usage.cached_input_tokens > 0
    await runner.cleanup()
    repeated = sum(map(len, provider.prompts[:-1])) / sum(map(len, provider.prompts))
    return provider.cached_tokens / provider.input_tokens, repeated
