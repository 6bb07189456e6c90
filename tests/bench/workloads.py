"""The work that is measured: real turns, through real chains, with a model that answers at once."""

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
from sophon.models.model import ModelInfo
from sophon.stores.contracts import SessionRecord
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
    """The default chain over an instant model; `history` messages stand in front of every turn."""

    def __init__(self, *, rounds: int = 0, history: int = 0) -> None:
        settings = {"AgentExecution": {"MaxToolIterations": 500, "MaxToolIterationsHardLimit": 500}}
        self.services = Services(models=InstantModel(rounds), tools=[add], settings=settings)
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
