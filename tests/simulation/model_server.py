"""Model server of the simulated world: slow, silent, overloaded, cut off in the middle, and sometimes nonsense."""

import asyncio
import re
from dataclasses import dataclass, field

from sophon import ModelRequest, ModelResponse, ToolCall
from sophon.errors import ModelError, Overloaded, ProviderUnavailable, RateLimited
from sophon.messages import Usage
from sophon.models.model import ModelInfo
from sophon.testing.simulation import SimulatedLoop

FAULTS = ("rate limit", "rate limit without a time", "overload", "cut", "silence", "slowness", "nonsense")

MESSAGE = re.compile(r"\b(?:say|think|note|work|pay|look|both|stop) [a-z]+[a-z0-9/-]*/[0-9]+\.")
"""A message of the plan in a text: a host may add to what people write."""

TOOLS = ("note", "work", "pay", "look")


@dataclass(eq=False)
class ModelServer:
    """What the hosts ask. `fault` is what happens to a `share` of the requests."""

    loop: SimulatedLoop
    fault: str = ""
    share: float = 0.0
    asked: dict[str, list[float]] = field(default_factory=dict)
    """When a turn for a message has begun: its first request of each time."""

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Answer as the model server does."""
        asked, is_first = _find_message(request)
        if is_first:
            self.asked.setdefault(asked, []).append(self.loop.time())
        random = self.loop.random
        await asyncio.sleep(random.uniform(0.01, 1.0))
        fault = self.fault if self.fault and random.random() < self.share else ""
        match fault:
            case "rate limit":
                raise RateLimited("slow down", retry_after=random.choice((0.0, 2.0, 30.0)))
            case "rate limit without a time":
                raise RateLimited("slow down")
            case "overload":
                raise Overloaded("busy")
            case "silence":
                await asyncio.sleep(random.uniform(30.0, 90.0))
            case "slowness":
                await asyncio.sleep(random.uniform(3.0, 25.0))
            case "nonsense":
                return self._babble(request)
        response = self._think(request)
        if response.text.startswith("Done: think"):
            await asyncio.sleep(random.uniform(3.0, 25.0))
        await self._stream(request, response.text, is_cut=fault == "cut")
        return response

    async def _stream(self, request: ModelRequest, text: str, *, is_cut: bool) -> None:
        random = self.loop.random
        middle = random.randrange(1, len(text)) if text else 0
        for piece in (text[:middle], text[middle:]):
            if piece and request.on_text is not None:
                request.on_text(piece)
            if is_cut:
                raise ProviderUnavailable("the connection was lost in the middle of a reply")
            await asyncio.sleep(random.choice((0.0, random.uniform(0.0, 3.0))))

    def _think(self, request: ModelRequest) -> ModelResponse:
        asked, is_first = _find_message(request)
        wanted = asked.partition(" ")[0]
        calls = []
        if is_first and request.tools:
            names = ("note", "look") if wanted == "both" else (wanted,) if wanted in TOOLS else ()
            calls = [ToolCall(f"call-{self.loop.random.getrandbits(40):010x}", each, {"text": asked}) for each in names]
        return ModelResponse("" if calls else f"Done: {asked}", calls, self._usage(request))

    def _babble(self, request: ModelRequest) -> ModelResponse:
        match self.loop.random.randrange(4):
            case 0:
                return ModelResponse("", [], self._usage(request))
            case 1:
                return ModelResponse("", [ToolCall("call-x", "note", {"words": 7})], self._usage(request))
            case 2:
                return ModelResponse("", [ToolCall("", "no such tool", {})], self._usage(request))
        raise ModelError("the response is no JSON")

    def _usage(self, request: ModelRequest) -> Usage:
        return Usage(input_tokens=10, output_tokens=request.max_tokens)


def _find_message(request: ModelRequest) -> tuple[str, bool]:
    """Return the message that a request is about, and whether no tool has run for it."""
    is_first = True
    for each in reversed(request.messages):
        if each.role == "user" and (found := MESSAGE.search(each.content)):
            return found[0], is_first
        is_first = is_first and each.role != "tool"
    return "nothing", is_first


@dataclass(eq=False)
class SimulatedModel:
    """Model of a host: its way to the server."""

    server: ModelServer
    info: ModelInfo = field(default_factory=lambda: ModelInfo("brain", "brain"))

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Ask the server."""
        return await self.server.answer(request)
