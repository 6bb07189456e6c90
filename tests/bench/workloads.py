"""The work that is measured: real turns, through real chains, with a model that answers at once."""

import asyncio

from sophon import (
    Context,
    Message,
    ModelRequest,
    ModelResponse,
    Next,
    Pipeline,
    Response,
    Services,
    ToolCall,
    Usage,
    tool,
)
from sophon.events import Event
from sophon.models.model import ModelInfo
from sophon.stores.sessions.contract import SessionRecord
from sophon.tools.tool import Tool
from sophon_middlewares.chains import twelve

USAGE = Usage(input_tokens=20, output_tokens=5)


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


class InstantModel:
    """Asks for so many rounds of one tool call, then answers."""

    info = ModelInfo(name="instant", provider="instant")

    def __init__(self, rounds: int = 0) -> None:
        self._rounds = rounds
        self._left = rounds

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """The next reply; the same again for the next turn."""
        if not self._left:
            self._left = self._rounds
            return ModelResponse("done", usage=USAGE)
        self._left -= 1
        return ModelResponse(tool_calls=[ToolCall("", "add", {"a": self._left, "b": 1})], usage=USAGE)


class StreamingModel:
    """Says so many pieces to whoever listens."""

    info = ModelInfo(name="streaming", provider="streaming", streaming=True)

    def __init__(self, pieces: int) -> None:
        self._pieces = ["word "] * pieces

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """One reply, piece by piece."""
        if request.on_text is not None:
            for piece in self._pieces:
                request.on_text(piece)
        return ModelResponse("".join(self._pieces), usage=USAGE)


class WaitingModel:
    """Holds every call until the gate is opened, so that all turns are in flight at once."""

    info = ModelInfo(name="waiting", provider="waiting")

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer when the gate is open."""
        await self.gate.wait()
        return ModelResponse("done", usage=USAGE)


class Counting:
    """A listener that keeps nothing but a number."""

    def __init__(self) -> None:
        self.heard = 0

    def emit(self, event: Event, /) -> None:
        """One more."""
        self.heard += 1


def many_tools(count: int) -> list[Tool]:
    """Different tools of one shape."""
    return [
        tool(name=f"tool_{n}", description=f"Look up entry {n} of the archive.")(add.function) for n in range(count)
    ]


async def no_op(ctx: Context, next: Next) -> None:
    """A layer that does nothing."""
    await next(ctx)


async def answer(ctx: Context, next: Next) -> None:
    """The smallest terminal."""
    ctx.response = Response("done")


def layers(count: int) -> tuple[Services, Pipeline]:
    """A chain of so many no-op layers."""
    return Services(), Pipeline.compose(*[no_op] * count, answer)


class Twelve:
    """The default chain over an instant model; `history` messages stand in front of every turn, and the filter has
    `tools` more to choose from.
    """

    def __init__(self, *, rounds: int = 0, history: int = 0, tools: int = 0) -> None:
        settings = {"AgentExecution": {"MaxToolIterations": 500, "MaxToolIterationsHardLimit": 500}}
        self.services = Services(models=InstantModel(rounds), tools=[add, *many_tools(tools)], settings=settings)
        self.pipeline = twelve(self.services)
        self._history = history
        self._sessions = 0

    async def turn(self) -> None:
        """One turn, in a session of its own or, with a history, in a fork of one."""
        if not self._history:
            await self.pipeline.run(self.services.turn("hello"))
            return
        await self._prepare()
        await self.pipeline.run(self.services.turn("hello", session_id="long"))

    async def _prepare(self) -> None:
        if self._sessions:
            return
        self._sessions = 1
        said = [
            Message("user" if n % 2 == 0 else "assistant", f"message {n} of a long talk") for n in range(self._history)
        ]
        await self.services.store.sessions.append("long", [SessionRecord("message", "past", m) for m in said])


class Streamed:
    """The default chain over a model that streams so many pieces, and somebody who listens."""

    def __init__(self, pieces: int) -> None:
        self.services = Services(models=StreamingModel(pieces), events=Counting())
        self.pipeline = twelve(self.services)

    async def turn(self) -> None:
        """One streamed turn."""
        await self.pipeline.run(self.services.turn("hello", stream=True))
