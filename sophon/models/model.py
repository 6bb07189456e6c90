"""The contract between the chain and whatever answers: what a model is, is asked, and gives back."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

from sophon.messages import Message, ToolCall, Usage

if TYPE_CHECKING:
    from sophon.tools.tool import Tool

Purpose: TypeAlias = Literal[
    "reply", "step", "plan", "vote", "compaction", "title", "memory", "simulation", "evaluation"
]
"""Why a call is made. Only `reply` streams to the person; `reply` and `step` pass through the call layers; all are
billed and traced."""

LAYERED: frozenset[Purpose] = frozenset({"reply", "step"})
"""The purposes that pass through the call layers."""

OnText: TypeAlias = Callable[[str], None]
"""Receives text as it comes; a plain function, called in order, never with an empty text."""

DEFAULT_CONTEXT_WINDOW = 128_000
DEFAULT_MAX_TOKENS = 4096
"""Source: reference/sophon.md 5.12."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model. `prices` are (input, output) in USD per million tokens, or None when unknown.

    As micro-USD per token they are the same numbers, which is how a cost comes out in integer micro-units.
    """

    name: str
    provider: str
    context_window: int = DEFAULT_CONTEXT_WINDOW
    max_output_tokens: int | None = None
    function_calling: bool = True
    streaming: bool = True
    capabilities: frozenset[str] = frozenset()
    prices: tuple[float, float] | None = None
    id: str = field(init=False, repr=False, compare=False)
    """`provider/name`, as a person chooses it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", f"{self.provider}/{self.name}")

    def __str__(self) -> str:
        return self.id

    def cost_micros(self, input_tokens: int, output_tokens: int) -> int:
        """The price of so many tokens in micro-USD; 0 when prices are unknown."""
        if self.prices is None:
            return 0
        return round(input_tokens * self.prices[0] + output_tokens * self.prices[1])


UNROUTED = ModelInfo(name="none", provider="none")
"""Stands in a request for which no provider is left; the gateway raises NoProvider for it."""


@dataclass(slots=True)
class ModelRequest:
    """One call of a model. `messages` is the caller's own list: a model may keep it, nobody changes it later.

    `on_text` is given when the text shall be streamed. `key` is set by the gateway for each attempt.
    """

    messages: list[Message]
    tools: "Sequence[Tool]"
    model: ModelInfo
    purpose: Purpose = "reply"
    max_tokens: int = DEFAULT_MAX_TOKENS
    tool_choice: Literal["auto", "none"] = "auto"
    temperature: float | None = None
    on_text: OnText | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    input_tokens: int | None = None
    """What the request takes, uncalibrated, if a layer has counted it; else the gateway counts where it must know."""

    def with_(self, **changes: Any) -> Self:
        """A copy with other values in the named fields."""
        return replace(self, **changes)


@dataclass(slots=True)
class ModelResponse:
    """What a model gave back. `usage` is None when the provider reports none: the gateway then estimates it."""

    text: str = ""
    tool_calls: list[ToolCall] = field(default_factory=lambda: [])
    usage: Usage | None = None
    finish_reason: Literal["stop", "tool_calls", "length"] = "stop"
    model: ModelInfo | None = None
    """Which model answered; set by the gateway."""


class Model(Protocol):
    """Anything that answers. Raises what it likes: the gateway classifies by `status_code` and `retry_after`."""

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""
        ...

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer; stream the text through `request.on_text` where it is given and the model can."""
        ...


Call: TypeAlias = Callable[[ModelRequest], Awaitable[ModelResponse]]
"""The rest of the way to the model, as a call layer sees it."""

CallLayer: TypeAlias = Callable[[ModelRequest, Call], Awaitable[ModelResponse]]
"""An onion layer around every `reply` and `step` call, run once per candidate model: it reads `request.model`."""


class Meter(Protocol):
    """Asked before every attempt of every call, told after. Raises BudgetExceeded when the attempt may not be made.

    A `reserve` that is cancelled leaves nothing reserved; a `settle` or `release` is done even if it is cancelled.
    """

    async def reserve(self, request: ModelRequest, input_tokens: int) -> Any:
        """Claim the worst case of the attempt: so many input tokens and `request.max_tokens` of output."""
        ...

    async def settle(self, reservation: Any, request: ModelRequest, usage: Usage) -> None:
        """The attempt cost this much."""
        ...

    async def release(self, reservation: Any) -> None:
        """The attempt failed and cost nothing."""
        ...

    def tool_call(self) -> None:
        """A tool is about to run. Raises BudgetExceeded."""
        ...
