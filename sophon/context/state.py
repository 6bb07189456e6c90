"""Facts and working state of a turn: what never changes, and what middlewares change and a checkpoint contains."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from sophon._python.lazy_dataclass import dataclass, new_dict, new_list, new_set
from sophon.extensions import Extensions, Key, SerializedValue
from sophon.messages import NO_USAGE, Message, Response, ToolCall, ToolResult, Usage
from sophon.security.information_flow.taint import UNTAINTED, Taint

if TYPE_CHECKING:
    from sophon.approvals import Grant
    from sophon.messages import Compaction
    from sophon.models.gateway.provider import Candidate
    from sophon.tools.tool import Risk, Tool

T = TypeVar("T")

UsageKey: TypeAlias = tuple[str, str, str, str, str]
"""Day, month, provider, model and purpose."""

UnrecordedUsage: TypeAlias = "dict[UsageKey, UsageCounts]"
"""Usage that is not in the store yet. It is part of the turn's state, so that a killed host loses none of it."""


@dataclass(frozen=True, slots=True)
class Step:
    """The plan step that a child turn executes.

    `approved_risk` is the risk level up to which a person approved the step with its plan; None if nobody was asked. It
    covers the tools of `tool_hints` if there are any, and never a call of Critical risk.
    `started_at` is the turn's active time in seconds when this try of the step began, or that of the step whose plan it
    belongs to; None for no time limit of its own.
    """

    id: str
    tool_hints: tuple[str, ...] = ()
    model_hint: str | None = None
    approved_risk: "Risk | None" = None
    started_at: float | None = None


@dataclass(slots=True, eq=False)
class TurnFacts:
    """What never changes during a turn. The fields are `Final`: type checkers reject an assignment."""

    run_id: Final[str]
    session_id: Final[str]
    text: Final[str]
    principal: Final[str] = ""
    """Who wrote the message; their rights apply."""
    data_owner: Final[str] = ""
    """Principal whose long-term memory and files the turn uses: in a group the group's, else `principal`."""
    group: Final[bool] = False
    """Whether the answer is read by a group. The private data of `principal` must not reach such a turn."""
    channel: Final[str] = "local"
    stream: Final[bool] = False
    planning: Final[str | None] = None
    """Planning mode that the sender chose for this message, but not for its steps; None for the settings' mode."""
    max_iterations: Final[int | None] = None
    """Maximum rounds of tool calls that the sender chose for this message and its steps; None for the chain's."""
    temperature: Final[float | None] = None
    """Temperature that the sender chose for the replies of this message and its steps; None for the model's own."""
    depth: Final[int] = 0
    """0 for a turn, 1 for a step of its plan, and so on."""
    step: Final[Step | None] = None
    started_at: Final[datetime | None] = None

    @property
    def task_id(self) -> str:
        """The run id of the whole turn, also in a plan step."""
        return self.run_id.partition("/")[0]


@dataclass(slots=True)
class UsageCounts:
    """Sums over attempts, as integers that are counted on in place; a `Usage` is a value."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    cached_input_tokens: int = 0
    unpriced_tokens: int = 0
    reasoning_tokens: int = 0

    def add(self, usage: Usage, calls: int = 1) -> None:
        """Count an attempt, or the usage of several."""
        self.calls += calls
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cost_micros += usage.cost_micros
        self.cached_input_tokens += usage.cached_input_tokens
        self.unpriced_tokens += usage.unpriced_tokens
        self.reasoning_tokens += usage.reasoning_tokens

    def to_usage(self) -> Usage:
        """Return the sums as a value."""
        return Usage(*_usage_values(self))

    @classmethod
    def from_usage(cls, usage: Usage, calls: int = 0) -> "UsageCounts":
        """Return the counts of a usage; by default of an earlier sum, whose number of attempts is not known."""
        return cls(calls, *_usage_values(usage))


_usage_values = operator.attrgetter(*(each.name for each in fields(Usage)))
# Not dataclasses.astuple, which makes deep copies.


def unrecorded_to_json(unrecorded: UnrecordedUsage) -> list[list[Any]]:
    """Return the usage as JSON data."""
    return [[*key, counts.calls, *_usage_values(counts)] for key, counts in unrecorded.items()]


def unrecorded_from_json(data: Mapping[str, Any]) -> UnrecordedUsage:
    """Parse the usage of a stored tally; an earlier program recorded each attempt at once and stored none."""
    found: UnrecordedUsage = {}
    for day, month, provider, model, purpose, *counts in data.get("unrecorded", ()):
        found[str(day), str(month), str(provider), str(model), str(purpose)] = UsageCounts(*map(int, counts))
    return found


@dataclass(slots=True)
class Tally:
    """Running totals of a turn, its plan steps included: one object shared by the turn and all its children."""

    usage: Usage = NO_USAGE
    """Usage of the model calls that returned a response."""
    metered: UsageCounts = field(default_factory=UsageCounts)
    """Usage of all attempts that were charged, failed and cancelled ones included; updated by the meter."""
    model_calls: int = 0
    tool_calls: int = 0
    """Tool calls that were started, and those of the current replies that are about to be."""
    tool_rounds: int = 0
    """Rounds of tool calls that are over."""
    fallback_attempts: int = 0
    """Attempts beyond the first of each model call that was answered: retries, other keys and other models."""
    capped_calls: dict[str, int] = field(default_factory=new_dict)
    """Tool name -> calls let through, for tools with `max_calls_per_turn`."""
    untrusted_sources: list[str] = field(default_factory=new_list)
    """Sources of the untrusted texts that the turn has read, each once; see `sophon.turn.provenance`."""
    taint: Taint = UNTAINTED
    """What the session contains by the guard InformationFlow, as far as this turn knows."""
    unrecorded: UnrecordedUsage = field(default_factory=new_dict)
    """The part of `metered` that the meter has not handed over to the store yet."""
    model: str = ""
    """Model that wrote the last reply, as `provider/model`."""


@dataclass(slots=True, eq=False)
class TurnState(TurnFacts):
    """What changes during a turn. Middlewares may write every field.

    `Context.state()` serialises them, except those in `serialization.RECOMPUTED`, which are set again after a resume.
    """

    model: str | None = None
    """Model that the sender or the session chose; None lets routing choose."""
    messages: list[Message] = field(default_factory=new_list)
    """What the model sees; append-only after the outer zone of the chain."""
    recorded: int = 0
    """Number of leading `messages` that the store already has (or does not need), as last computed; see
    `count_recorded`."""
    last_recorded: Message | None = None
    """The last of these messages."""
    prefix_cache: dict[str, tuple[int, int]] = field(default_factory=new_dict)
    """Cached results about the first n stored messages: name -> (n, value). Kept by the store between turns."""
    compaction: "Compaction | None" = None
    tools: "Sequence[Tool]" = ()
    """Tools offered to the model."""
    pending: list[ToolCall] = field(default_factory=new_list)
    """Tool calls of the last reply that have no result yet."""
    results: dict[str, ToolResult] = field(default_factory=new_dict)
    """Results of the last reply's tool calls by call id, until AgenticLoop appends them to the messages."""
    grants: "dict[str, Grant]" = field(default_factory=new_dict)
    """Call id -> grant for the exact call that may run although its risk is High or above."""
    awaiting_approval: set[str] = field(default_factory=new_set)
    """Ids of the pending calls that wait for a person and must not run in this pass."""
    route: "Sequence[Candidate] | None" = None
    """Candidates for model calls, in order; None for the gateway's default order."""
    excluded_providers: dict[str, str] = field(default_factory=new_dict)
    """Provider id -> reason why this turn must not use it."""
    iteration: int = 0
    """Rounds of tool calls so far."""
    settling: bool = False
    """True in a settling pass of the inner zone: pending calls are settled and the model is not reached."""
    tools_allowed: bool = True
    """False for the final reply that summarises after the iteration limit."""
    response: Response | None = None
    tally: Tally = field(default_factory=Tally)
    extensions: Extensions = field(default_factory=Extensions)
    epoch: int = 1
    """Number of starts of the streamed reply."""
    resumes: int = 0
    """How often the turn was restored and run without a host; None for a state that does not say."""

    def get(self, key: Key[T]) -> T | None:
        """Return the value that a middleware stored for this turn, or None."""
        value = self.extensions.values.get(key.name)
        return self.extensions.get(key) if type(value) is SerializedValue else value

    def put(self, key: Key[T], value: T) -> None:
        """Store a middleware's value for this turn."""
        extensions = self.extensions
        extensions.values[key.name] = value
        if key.dump is not None:
            if extensions.dumps is None:
                extensions.dumps = {}
            extensions.dumps[key.name] = key.dump

    @property
    def stored_count(self) -> int:
        """Number of stored messages of the conversation, system messages not counted."""
        recorded, system = self.count_recorded(), 0
        for message in self.messages:
            if message.role != "system":
                break
            system += 1
        return max(0, recorded - system)

    def count_recorded(self) -> int:
        """Return `recorded`, corrected for messages that a middleware inserted before the stored ones."""
        last, end = self.last_recorded, self.recorded
        if last is not None and not (0 < end <= len(self.messages) and self.messages[end - 1] is last):
            for index in range(len(self.messages) - 1, -1, -1):
                if self.messages[index] is last:
                    self.recorded = index + 1
                    break
        return self.recorded

    def mark_recorded(self, end: int) -> None:
        """Note that the store has, or does not need, the first `end` messages."""
        self.recorded = end
        self.last_recorded = self.messages[end - 1] if end else None
