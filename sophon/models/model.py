"""Model contract: `Model`, its facts, requests and responses, call layers and the meter."""

import operator
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

from sophon._python.joined_text import add_piece
from sophon._python.lazy_dataclass import dataclass, new_dict, new_list
from sophon.errors import CompositionError
from sophon.messages import Message, ToolCall, Usage
from sophon.models.model_fact_checks import find_wrong_fact
from sophon.models.reply_size import ReplySize

if TYPE_CHECKING:
    from sophon.tools.tool import Tool

Purpose: TypeAlias = Literal[
    "reply", "step", "plan", "vote", "compaction", "title", "memory", "simulation", "evaluation", "embedding"
]
"""Why a model call is made. Only `reply` streams to the user; `reply` and `step` pass through the call layers; all
purposes pass through the model hooks, and are billed and traced."""

LAYERED_PURPOSES: frozenset[Purpose] = frozenset({"reply", "step"})
"""The purposes that pass through the call layers."""

OnText: TypeAlias = Callable[[str], None]
"""Callback for streamed text: a synchronous function, called in order and never with an empty string."""

DEFAULT_CONTEXT_WINDOW = 128_000
"""Tokens. Source: Sophon's guide, LLM invoker."""
DEFAULT_MAX_TOKENS = 4096
"""Output limit in tokens. Source: Sophon's guide, LLM invoker."""

Hosting: TypeAlias = Literal["local", "private", "hosted"]
"""Where a model runs, which decides what an unknown price means: `local` in this process or on an Ollama server (free),
`private` on another server of this machine or of a private network (free, unless a monthly cost is limited), `hosted`
at a provider that charges."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about a model: limits, capabilities and prices.

    `prices` are (input, output) in USD per million tokens, which equals micro-USD per token; None when unknown, which
    means free unless the model is `hosted`. Window and output limit are in tokens. Raises CompositionError for a fact
    of the wrong kind, and for a `hosting` that is none of the three.
    """

    name: str
    provider: str
    context_window: int = DEFAULT_CONTEXT_WINDOW
    max_output_tokens: int | None = None
    function_calling: bool = True
    streaming: bool = True
    capabilities: frozenset[str] = frozenset()
    prices: tuple[float, float] | None = None
    hosting: Hosting = "local"
    cached_input_price: float | None = None
    """USD per million input tokens that the provider found in its prompt cache; None: the input price."""
    cache_write_factor: float = 1.0
    """Price of an input token that the request writes to the provider's prompt cache, as a multiple of the input
    price."""
    id: str = field(init=False, repr=False, compare=False)
    """`provider/name`, the form in which a user selects a model."""

    def __post_init__(self) -> None:
        if problem := find_wrong_fact(self):
            raise CompositionError(f"model {self.name!r:.60}: {problem}")
        object.__setattr__(self, "id", f"{self.provider}/{self.name}")

    def __str__(self) -> str:
        return self.id

    @property
    def is_cost_unknown(self) -> bool:
        """Whether calls of this model cost an unknown amount: a provider charges for them, and no price is known."""
        return self.prices is None and self.hosting == "hosted"


NO_MODEL = ModelInfo(name="none", provider="none")
"""Placeholder in a request for which no provider is left; the gateway raises NoProvider for it."""


@dataclass(slots=True)
class AttemptOutput:
    """What a model notes during an attempt, so that it is charged if the attempt fails; the gateway reads it then.

    Without notes only the streamed text counts. An adapter notes with `note`, which also enforces the limits.
    """

    pieces: list[str] = field(default_factory=new_list)
    """All that was produced: text, reasoning, and the names and arguments of tool calls, in the order of arrival."""
    size: ReplySize = field(default_factory=ReplySize)
    """The size of the pieces that were noted with `note`, and its limit."""
    usage: Usage | None = None
    """The usage that the provider has reported."""
    is_half_usage: bool = False
    """Whether the provider's report lacks input or output tokens; the 0 in its place is estimated."""
    has_begun: bool = False
    """Whether the provider has begun to answer, which it charges for even if the answer is lost."""

    def note(self, produced: str) -> None:
        """Append what was produced and count it. Raises ResponseTooLarge."""
        if produced:
            add_piece(self.pieces, produced)
            self.size.add(produced)


@dataclass(slots=True)
class ModelRequest:
    """One model call. `messages` is the caller's list: a model may keep a reference, and it is not changed later.

    `on_text` is set when the text is to be streamed, and `on_reasoning` when the model's reasoning is. The gateway sets
    `key` and `output` for each attempt.
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
    """Uncalibrated input tokens, if a call layer has counted them; otherwise the gateway counts when it needs to."""
    on_reasoning: OnText | None = field(default=None, repr=False)
    output: AttemptOutput | None = field(default=None, repr=False, compare=False)
    """Notes of the attempt, which the gateway sets for each; None outside of an attempt."""
    session_id: str = field(default="", repr=False)
    """Session whose requests begin alike, for a provider that is told which ones do; it is never sent as it is."""
    max_reply_bytes: int | None = None
    """Limit on the size of the reply, if it is lower than the gateway's: what the turn's texts leave of it."""

    def copy_with(self, **changes: Any) -> Self:
        """Return a copy with the named fields replaced."""
        if type(self) is not ModelRequest:
            return replace(self, **changes)
        # As replace, at a third of its cost: every attempt of every call has its own request.
        copy = type(self)(*_request_values(self))
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy


@dataclass(slots=True)
class ModelResponse:
    """Response of a model. `usage` is None when the provider reports none; the gateway then estimates it."""

    text: str = ""
    tool_calls: list[ToolCall] = field(default_factory=new_list)
    usage: Usage | None = None
    finish_reason: Literal["stop", "tool_calls", "length"] = "stop"
    model: ModelInfo | None = None
    """The model that answered; set by the gateway."""
    reasoning: str = ""
    """What the model wrote while it reasoned; never part of `text`."""
    reasoning_fields: Mapping[str, Any] = field(default_factory=new_dict)
    """Fields of the provider's message that hold the reasoning and must be sent back: see `Reasoning.fields`."""
    attempts: int = 0
    """Attempts that the call needed, over all models; set by the gateway. 0: a call layer has answered."""

    def copy_with(self, **changes: Any) -> "ModelResponse":
        """Return a copy with the named fields replaced."""
        if type(self) is not ModelResponse:
            return replace(self, **changes)
        copy = ModelResponse(*_response_values(self))
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy


_request_values = operator.attrgetter(*(each.name for each in fields(ModelRequest)))
_response_values = operator.attrgetter(*(each.name for each in fields(ModelResponse)))


class Model(Protocol):
    """Protocol of a model. It may raise any exception: the gateway classifies by `status_code` and `retry_after`."""

    @property
    def info(self) -> ModelInfo:
        """The model's facts."""
        ...

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the response; stream the text through `request.on_text` if it is set and the model can stream."""
        ...


Call: TypeAlias = Callable[[ModelRequest], Awaitable[ModelResponse]]
"""The rest of the model call, as seen by a call layer: the inner layers, retries and the model."""

CallLayer: TypeAlias = Callable[[ModelRequest, Call], Awaitable[ModelResponse]]
"""A wrapper around every `reply` and `step` call, or, as a model hook, around every call of every purpose. It runs
once per candidate, which it finds in `request.model`.

One with an attribute `without_function_calling_only` that is true is left out for models with function calling.
"""


class Meter(Protocol):
    """Protocol of the meter, which reserves budget before each attempt and settles it afterwards.

    A cancelled `reserve` must leave nothing reserved; `settle` and `release` must complete even if they are cancelled.
    """

    async def reserve(self, request: ModelRequest, input_tokens: int) -> Any:
        """Reserve the worst case of an attempt: `input_tokens` plus `request.max_tokens` of output.

        Returns the reservation. Raises BudgetExceeded if the attempt may not be made.
        """
        ...

    async def settle(self, reservation: Any, request: ModelRequest, usage: Usage) -> None:
        """Settle the reservation with the real usage of the attempt."""
        ...

    async def release(self, reservation: Any) -> None:
        """Release the reservation: the attempt failed and cost nothing."""
        ...

    def reserve_tool_call(self) -> None:
        """Count one tool call before it runs. Raises BudgetExceeded."""
        ...

    def find_time_limit(self) -> tuple[str, float] | None:
        """Return the setting that limits the time of work, and its seconds; None if nothing does."""
        ...


CURRENT_METER: ContextVar[Meter | None] = ContextVar("turn_meter", default=None)
"""Meter of the turn in whose tasks it is read: of its embedding calls, and of turns that begin within it."""


@contextmanager
def metering(meter: Meter | None) -> Generator[None]:
    """Meter the embedding calls and the turns of the block, and of the tasks that begin in it; None meters none."""
    token = CURRENT_METER.set(meter)
    try:
        yield
    finally:
        CURRENT_METER.reset(token)
