"""Twenty turns of one session against a provider on loopback that caches the beginnings of prompts."""

from typing import Any

import orjson
from aiohttp import web

from sophon import Services
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo
from sophon.models.providers.openai.model import OpenAIModel
from sophon_middlewares.chains import twelve

TURNS = 20
BYTES_PER_TOKEN = 4


class CachingProvider:
    """Answers every request and reports the longest beginning that it shares with an earlier one as cached.

    Compared are tools and messages in this order, in which providers read them.
    """

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
        message = {"role": "assistant", "content": f"This is reply number {len(self.prompts)}. " * 10}
        usage = {"prompt_tokens": tokens, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": cached}}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


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


async def cached_share() -> tuple[float, float]:
    """The share of the input tokens that the provider had cached, and the share that a perfect client could have.

    The perfect client repeats each prompt whole.
    """
    provider = CachingProvider()
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", provider.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address: Any = runner.addresses[0]
    info = ModelInfo("small", "loopback", prices=(1.0, 4.0), cached_input_price=0.1)
    model = OpenAIModel(info, base_url=f"http://127.0.0.1:{address[1]}/v1")
    services = Services(models=[Provider("loopback", [model])], instructions="You are a helpful assistant. " * 40)
    chain = twelve(services)
    async with services:
        for number in range(TURNS):
            await chain.run(services.turn(f"Tell me about subject number {number}", session_id="s"))
    await runner.cleanup()
    repeated = sum(map(len, provider.prompts[:-1])) / sum(map(len, provider.prompts))
    return provider.cached_tokens / provider.input_tokens, repeated
