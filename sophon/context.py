"""One turn of a conversation: the facts that never change, the state that does, and the services it may use."""

import logging
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from sophon import events
from sophon.errors import ChainError
from sophon.extensions import Extensions, Key
from sophon.messages import Message, Outcome, Response, ToolCall, ToolResult, Usage
from sophon.models.model import (
    DEFAULT_MAX_TOKENS,
    UNROUTED,
    CallLayer,
    Meter,
    ModelRequest,
    ModelResponse,
    OnText,
    Purpose,
)
from sophon.places import Places
from sophon.stopwatch import Stopwatch

if TYPE_CHECKING:
    from sophon.approvals import Grant
    from sophon.models.provider import Candidate
    from sophon.pipeline import Pipeline
    from sophon.services import Services
    from sophon.settings import Settings
    from sophon.stores.contracts import Compaction
    from sophon.tools.tool import Risk, Tool

T = TypeVar("T")

log = logging.getLogger("sophon")


@dataclass(frozen=True, slots=True)
class Step:
    """What a child turn knows of the plan step that it carries out.

    `approved_risk` is the risk up to which a person has approved the step with its plan; None if nobody was asked.
    """

    id: str
    tool_hints: tuple[str, ...] = ()
    model_hint: str | None = None
    approved_risk: "Risk | None" = None


@dataclass(slots=True)
class Tally:
    """What a turn has used so far, its plan steps included: one object for the turn and all its children."""

    usage: Usage = field(default_factory=Usage)
    """Of the calls that gave an answer."""
    metered: Usage = field(default_factory=Usage)
    """Of all attempts that were charged, failed and cancelled ones included; kept by the meter."""
    model_calls: int = 0
    tool_calls: int = 0


@dataclass(slots=True, eq=False)
class Context:
    """One turn on its way through the chain. Made by `services.turn(...)` and `services.restore(state)`.

    The fields come in three layers: facts of the turn, working state, and the services (`services` and the methods).
    """

    # The facts: never change.
    services: "Services"
    watch: Stopwatch
    places: Places
    run_id: str
    session_id: str
    text: str
    principal: str = ""
    channel: str = "local"
    stream: bool = False
    model: str | None = None
    """The model that the sender or the session chose; None lets routing choose."""
    planning: str | None = None
    """The planning mode that the sender chose for this message, but not for its steps; None for the settings'."""
    depth: int = 0
    """0 for a turn, 1 for a step of its plan, and so on."""
    step: Step | None = None
    started_at: datetime | None = None
    resumed: bool = False
    """The turn was suspended and goes on."""
    observed: bool = True
    """Whether anybody listens. An event in a hot place is not even built for nobody."""

    # The working state: changes as the turn goes, and can be written out and read back.
    messages: list[Message] = field(default_factory=lambda: [])
    """What the model sees; only ever appended to once the chain's outer zone is passed."""
    recorded: int = 0
    """How many of `messages` the store already holds (or need not hold), as of the last look; see `recorded_upto`."""
    last_recorded: Message | None = None
    """The last of them."""
    known: dict[str, tuple[int, int]] = field(default_factory=lambda: {})
    """What was found out about the first n stored messages in earlier turns: name -> (n, value). Kept by the store."""
    compaction: "Compaction | None" = None
    tools: "Sequence[Tool]" = ()
    """The tools offered to the model."""
    pending: list[ToolCall] = field(default_factory=lambda: [])
    """Calls of the last reply that have no result yet."""
    results: dict[str, ToolResult] = field(default_factory=lambda: {})
    """Results of the last reply's calls, by call id, until the loop appends them to the messages."""
    grants: "dict[str, Grant]" = field(default_factory=lambda: {})
    """Call id -> the exact call that may run although its risk is High or above."""
    waiting: set[str] = field(default_factory=lambda: set())
    """Ids of the pending calls that wait for a person and must not run in this pass."""
    route: "Sequence[Candidate] | None" = None
    """The models to ask, in order; None for the gateway's own order."""
    excluded: dict[str, str] = field(default_factory=lambda: {})
    """Provider id -> why it must not be asked in this turn."""
    iteration: int = 0
    """Rounds of tool calls so far."""
    settling: bool = False
    """True in a settling pass of the inner zone: pending calls are settled and the model is not reached."""
    tools_allowed: bool = True
    """False for the one last reply that sums up."""
    response: Response | None = None
    tally: Tally = field(default_factory=Tally)
    extensions: Extensions = field(default_factory=Extensions)

    # What lives for one run of the chain and is set up anew after a resume.
    pipeline: "Pipeline | None" = None
    call_layers: list[CallLayer] = field(default_factory=lambda: [])
    """Around every `reply` and `step` call of the model, first pushed outermost."""
    overheads: list[Callable[[ModelRequest], str]] = field(default_factory=lambda: [])
    """Text that call layers will add to a request, told to whoever must make the request fit."""
    meter: Meter | None = None
    place: str = "the beginning"
    """The middleware that was entered last; named in errors."""
    epoch: int = 1
    """Counts the beginnings of the streamed reply."""
    shown: list[str] = field(default_factory=lambda: [])
    """The pieces of the current reply that the person has seen."""

    @property
    def task_id(self) -> str:
        """The run id of the whole turn, also in a plan step."""
        return self.run_id.partition("/")[0]

    @property
    def settings(self) -> "Settings":
        """The settings of the turn's services."""
        return self.services.settings

    @property
    def stored(self) -> int:
        """How many messages of the conversation, system messages not counted, the store holds."""
        recorded, system = self.recorded_upto(), 0
        for message in self.messages:
            if message.role != "system":
                break
            system += 1
        return max(0, recorded - system)

    def recorded_upto(self) -> int:
        """`recorded`, put right where a middleware has put something in front of what the store holds."""
        last, end = self.last_recorded, self.recorded
        if last is not None and not (0 < end <= len(self.messages) and self.messages[end - 1] is last):
            for index in range(len(self.messages) - 1, -1, -1):
                if self.messages[index] is last:
                    self.recorded = index + 1
                    break
        return self.recorded

    def mark_recorded(self, end: int) -> None:
        """The store holds, or need not hold, the first `end` messages."""
        self.recorded = end
        self.last_recorded = self.messages[end - 1] if end else None

    def emit(self, event: events.Event) -> None:
        """Tell whoever listens; never waits, never raises."""
        try:
            event.session_id = self.session_id
            event.task_id = self.task_id
            event.run_id = self.run_id
            self.services.events.emit(event)
        except Exception:  # a broken listener must not break the turn
            log.exception("a listener failed on %s", type(event).__name__)

    def request(
        self,
        messages: list[Message],
        *,
        purpose: Purpose,
        tools: "Sequence[Tool]" = (),
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float | None = None,
        on_text: OnText | None = None,
    ) -> ModelRequest:
        """A request for `complete`; the list of messages becomes the request's own."""
        route = self.route if self.route is not None else self.services.gateway.candidates()
        return ModelRequest(
            messages=messages,
            tools=tools,
            model=route[0].info if route else UNROUTED,
            purpose=purpose,
            max_tokens=max_tokens,
            tool_choice="auto" if tools else "none",
            temperature=temperature,
            on_text=on_text,
        )

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Make a model call of any purpose: over the turn's route and layers, metered, counted.

        Raises ModelError, BudgetExceeded, MessageTooLarge.
        """
        gateway = self.services.gateway
        route = self.route if self.route is not None else gateway.candidates()
        response = await gateway.call(
            request, route, layers=self.call_layers, meter=self.meter, emit=self.emit if self.observed else None
        )
        self.tally.model_calls += 1
        if response.usage is not None:
            self.tally.usage += response.usage
        return response

    def settle(self, call: ToolCall, text: str, outcome: Outcome = "completed", *, duration_ms: int = 0) -> None:
        """Give a pending call its one result; the model reads the text."""
        self.results[call.id] = ToolResult(call.id, call.name, text, outcome, duration_ms)
        self.pending = [other for other in self.pending if other.id != call.id]
        if self.observed:
            self.emit(
                events.ToolCallCompleted(
                    call_id=call.id, tool=call.name, outcome=outcome, duration_ms=duration_ms, result=text
                )
            )

    def get(self, key: Key[T]) -> T | None:
        """A middleware's own value of this turn, or None."""
        return self.extensions.get(key)

    def put(self, key: Key[T], value: T) -> None:
        """Keep a middleware's own value of this turn."""
        self.extensions.put(key, value)

    def branch(self, call: ToolCall) -> "Context":
        """The same turn for one tool call: everything by reference, its own `pending` and `results`."""
        branch = Context(*_values(self))  # as copy.copy, at a fifth of its price
        branch.pending = [call]
        branch.results = {}
        return branch

    def child(self, text: str, step: Step, *, prompt: str | None = None) -> "Context":
        """A turn below this one, for a plan step: run id `parent/step`, its own conversation, tools, counters and
        response, no call layers; it shares principal, tally, meter and listeners, and records and streams nothing.

        `text` is what the step is judged by (tools, a plan of its own), `prompt` what its model reads, by default the
        same.
        """
        system = [message for message in self.messages if message.role == "system"]
        return Context(
            services=self.services,
            watch=self.watch,
            places=self.places,
            run_id=f"{self.run_id}/{step.id}",
            session_id=self.session_id,
            text=text,
            principal=self.principal,
            channel=self.channel,
            model=self.model,
            depth=self.depth + 1,
            step=step,
            started_at=self.started_at,
            observed=self.observed,
            messages=[*system, Message("user", text if prompt is None else prompt)],
            tools=self.services.registry.tools,
            excluded=dict(self.excluded),
            tally=self.tally,
            meter=self.meter,
        )

    def adopt(self, state: Mapping[str, Any]) -> "Context":
        """A plan step that was written out with `state()`, read back as a part of this turn: it shares what a `child`
        shares. Raises StateError.
        """
        child = self.services.restore(state)
        child.watch, child.places = self.watch, self.places
        child.tally, child.meter = self.tally, self.meter
        child.excluded = dict(self.excluded)
        return child

    def conclude(self) -> Response:
        """The turn's response, complete with usage and, in a streaming turn, heard; may be called twice.

        Raises ChainError if no middleware has set one.
        """
        if self.response is None:
            raise ChainError(
                f"the turn ended in {self.place} with no response: it returned without calling next and without "
                f"setting ctx.response"
            )
        response, usage = self.response, self.tally.usage
        if response.usage is not usage:
            response = Response(response.text, response.finish_reason, usage, response.tool_calls, response.detail)
            self.response = response
        if self.stream and not self.depth and response.finish_reason != "suspended":
            self._show(response.text)
        return response

    def _show(self, text: str) -> None:
        """A text that no model streamed reaches the listener as one chunk; one in place of a shown reply, anew."""
        shown = "".join(self.shown)
        if not text or shown.strip() == text.strip():
            return
        if shown and not self.messages[-1].tool_calls and self.messages[-1].role == "assistant":
            self.epoch += 1
            self.emit(events.StreamReset(epoch=self.epoch, reason="the reply was replaced"))
        self.shown = [text]
        self.emit(events.StreamChunk(epoch=self.epoch, text=text))

    def state(self) -> dict[str, Any]:
        """The turn as plain data, ready for JSON: what `services.restore` reads back."""
        return self.services.dump(self)


_values = operator.attrgetter(*(each.name for each in fields(Context)))
