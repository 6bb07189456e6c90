"""The context: one turn on its way through the chain."""

import asyncio
import logging
import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_list
from sophon.cancellation import Cancellation
from sophon.clock import Stopwatch
from sophon.context.message_list import MessageList
from sophon.context.scoped_hooks import AddedHook, PushedLayers, no_function
from sophon.context.state import Step, TurnState
from sophon.context.tool_limiter import ToolLimiter
from sophon.context.turn_services import TurnServices
from sophon.errors import ChainError
from sophon.events.base import Event
from sophon.events.tools import ToolCallCompleted
from sophon.extensions import Key
from sophon.messages import NO_USAGE, Message, Response, ToolCall, ToolCallOutcome, ToolResult
from sophon.models.model import (
    DEFAULT_MAX_TOKENS,
    NO_MODEL,
    CallLayer,
    Meter,
    ModelRequest,
    ModelResponse,
    OnText,
    Purpose,
)

if TYPE_CHECKING:
    from sophon.context.state_serialization import Snapshot
    from sophon.models.gateway.provider import Candidate
    from sophon.settings import Settings
    from sophon.tools.tool import Tool
    from sophon.traces.published_stages import StageTimes
    from sophon.traces.recorder import StageFrame, TraceRecorder

_ATTACHMENTS = operator.attrgetter("attachments")

STAGE_TIMES: "Key[StageTimes]" = Key("stage_times")
"""The times of the turn's published stages; absent in a chain without `PublishedStage`."""

log = logging.getLogger("sophon")


class TurnRunner(Protocol):
    """Runs a turn through a whole chain; `Pipeline` is one."""

    async def run(self, ctx: "Context", /) -> Response:
        """Run the turn and return its response."""
        ...

    def explain_missing_response(self, ctx: "Context", /) -> str:
        """Return which middleware is at fault that a turn has ended without a response."""
        ...


ToolCheck: TypeAlias = Callable[["Context", ToolCall], Awaitable[str | None] | str | None]
"""Returns why the call must not run, as a message for the model, or None: at once, or when it is awaited. An exception
counts as a refusal.
"""

ResultHook: TypeAlias = Callable[["Context", ToolCall, ToolResult], Awaitable[None] | None]
"""Called with the result of a call that ran, before it is journaled: a host stores both in one transaction. What is
returned, if anything, is awaited.
"""

Redactor: TypeAlias = Callable[[str], str]
"""Returns a text with its secrets replaced. If it raises, the text is withheld."""


@dataclass(slots=True, eq=False)
class Context(TurnState):
    """One turn on its way through the chain. Created by `services.turn(...)` and `services.restore(state)`.

    The base classes tell the fields apart by what may change them: `TurnFacts` never change, `TurnState` changes and
    is serialised, and the fields declared here live for one run of the chain and are created anew on resume.
    """

    services: TurnServices = field(kw_only=True)
    stopwatch: Stopwatch = field(kw_only=True)
    """Measures how long the turn has been active, without the time in which it waited for a person."""
    tool_limiter: ToolLimiter = field(kw_only=True)
    """Limits the number of tools that run concurrently."""
    resumed: bool = False
    """Whether the turn was suspended or interrupted before."""
    has_listeners: bool = True
    """Whether events have a listener. An event in a hot path is not created without one."""
    cancellation: Cancellation = field(default_factory=Cancellation)
    """Whether the turn is cancelled, or its end recorded; shared with those of calls and plan steps."""
    parent: "Context | None" = None
    """The turn, or plan step, whose plan step or sub-agent this is."""
    pipeline: TurnRunner | None = None
    running_task: "asyncio.Task[Any] | ToolCall | None" = None
    """The task in which the turn runs now. A part of the chain may run a pipeline again in it, one after the other, but
    not a tool: while one runs, this is its call.
    """
    call_layers: list[CallLayer] = field(default_factory=new_list)
    """Layers around every `reply` and `step` call of the model, first pushed outermost."""
    model_hooks: list[CallLayer] = field(default_factory=new_list)
    """Layers around every model call of every purpose, inside of the call layers; of plan steps and sub-agents, too."""
    request_overheads: list[Callable[[ModelRequest], str]] = field(default_factory=new_list)
    """Functions that return the text which call layers will add to a request, for whoever must fit the request."""
    tool_checks: "tuple[ToolCheck, ...]" = ()
    """Checks of a tool call immediately before it runs, after every decision on it."""
    result_hooks: "tuple[ResultHook, ...]" = ()
    """Functions that get the result of a call that ran, before it is journaled."""
    recorder: "TraceRecorder | None" = None
    """Keeps the events and stage times for the trace of the turn; shared with those of calls and plan steps."""
    stage_frame: "StageFrame | None" = None
    """The timed middleware that runs now."""
    redactor: "Redactor | None" = None
    """Replaces the secrets in what tools return and in what listeners are shown; None: nothing is replaced."""
    meter: Meter | None = None
    has_end_recorder: bool = False
    """Whether a middleware records the end of the turn, and with it the usage that the store does not have yet."""
    current_middleware: str = "the beginning"
    """Name of the middleware that was entered last, for error messages."""
    next_error: BaseException | None = None
    """What `next` has raised last in a middleware of the program's own, so that one that swallows it can be named; None
    at the end."""
    unawaited_in: str = ""
    """Name of the middleware that has called `next` and not awaited it yet."""
    open_in: list[str] = field(default_factory=new_list)
    """Names of the program's own middlewares whose `next` runs now, the outermost first."""
    answered_to: str = ""
    """Name of the middleware whose last `next` has brought a response, or raised `next_error`."""
    streamed_chunks: list[str] = field(default_factory=new_list)
    """The streamed chunks of the current reply, until it is in the messages with tool calls."""
    is_stream_complete: bool = False
    """Whether the end of the streamed reply was announced."""
    stop_check: Callable[[], None] | None = None
    """Called before every attempt and every chunk of a model call; may raise to stop the call."""
    history: Sequence[Message] = ()
    """The session's stored messages as they were loaded; a checkpoint refers to those among `messages`."""

    @classmethod
    def from_state(cls, services: TurnServices, state: Mapping[str, Any]) -> Self:
        """Restore a turn from what `state()` returned. Raises StateError."""
        from sophon.context.restored_grants import drop_void_grants
        from sophon.context.state_serialization import state_from_json  # lazy: it needs pydantic, by the tools

        arguments, active_seconds = state_from_json(state, services.registry)
        ctx = cls(
            services=services,
            stopwatch=Stopwatch(services.clock, active_seconds),
            tool_limiter=ToolLimiter(services.settings.tools.max_parallel),
            resumed=True,
            has_listeners=services.has_listeners,
            **arguments,
        )
        ctx.mark_recorded(min(ctx.recorded, len(ctx.messages)))
        drop_void_grants(ctx, services)
        return ctx

    def state(self) -> dict[str, Any]:
        """Return the turn as plain data, ready for JSON; `services.restore` reads it back."""
        from sophon.context.state_serialization import to_plain  # lazy, as above

        plain: dict[str, Any] = to_plain(self.snapshot())
        return plain

    def snapshot(self) -> "Snapshot":
        """Return the state with the turn's own list of messages in it, at a cost that does not depend on its length.

        What `Key.dump` returns may hold snapshots of other turns: `state()` makes plain data of them too.
        """
        from sophon.context.state_serialization import take_snapshot  # lazy, as above

        return take_snapshot(self, self.services.registry, self.stopwatch.seconds)

    @property
    def settings(self) -> "Settings":
        """The settings of the turn's services."""
        return self.services.settings

    def emit(self, event: Event) -> None:
        """Emit an event to the listeners; never waits, never raises."""
        try:
            event.session_id = self.session_id
            event.task_id = self.run_id.partition("/")[0]
            event.run_id = self.run_id
            if self.recorder is not None:
                self.recorder.record(event)
            self.services.events.emit(event)
        except Exception:  # a broken listener must not break the turn
            log.exception("an event listener failed on %s", type(event).__name__, stack_info=True)

    def request(
        self,
        messages: list[Message],
        *,
        purpose: Purpose,
        tools: "Sequence[Tool]" = (),
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float | None = None,
        on_text: OnText | None = None,
        on_reasoning: OnText | None = None,
        max_reply_bytes: int | None = None,
    ) -> ModelRequest:
        """Build a request for `complete`. The request takes ownership of the list of messages."""
        if isinstance(messages, str):
            raise ChainError(f"ctx.request({messages!r:.60}) takes a list: ctx.request([Message('user', ...)], ...)")
        route = self.route if self.route is not None else self.services.gateway.candidates()
        return ModelRequest(
            messages=messages,
            tools=tools,
            model=route[0].info if route else NO_MODEL,
            purpose=purpose,
            max_tokens=max_tokens,
            tool_choice="auto" if tools else "none",
            temperature=temperature,
            on_text=on_text,
            on_reasoning=on_reasoning,
            max_reply_bytes=max_reply_bytes,
            session_id=self.session_id,
        )

    async def complete(self, request: ModelRequest, *, route: "Sequence[Candidate] | None" = None) -> ModelResponse:
        """Make a model call of any purpose over the turn's route (or another one) and call layers, metered and counted.

        Raises ModelError, BudgetExceeded, MessageTooLarge.
        """
        gateway = self.services.gateway
        route = route or (self.route if self.route is not None else gateway.candidates())
        if any(map(_ATTACHMENTS, request.messages)):  # no Python call for each message of a long history
            shown = await self.services.show_attachments(self, request.messages)
            request = request.copy_with(messages=shown)
        response = await gateway.call(
            request,
            route,
            layers=self.call_layers,
            hooks=self.model_hooks,
            meter=self.meter,
            emit=self.emit if self.has_listeners else None,
            cancellation=self.cancellation,
            check=self.stop_check,
            rate_limit_waits=self.settings.failover.rate_limit_waits,
            pauses=self._count_to_failover,
        )
        tally = self.tally
        tally.model_calls += 1
        if response.attempts > 1:
            tally.fallback_attempts += response.attempts - 1
        if request.purpose == "reply" and response.model is not None:
            tally.model = response.model.id
        if (usage := response.usage) is not None:
            tally.usage = usage if tally.usage is NO_USAGE else tally.usage + usage
        return response

    def _count_to_failover(self) -> AbstractContextManager[None]:
        times = self.get(STAGE_TIMES)
        return nullcontext() if times is None else times.within("failover_decide")

    def settle(
        self, call: ToolCall, text: str, outcome: ToolCallOutcome = "completed", *, duration_ms: int = 0
    ) -> None:
        """Give a pending call its one result; `text` is what the model reads."""
        result = self.results[call.id] = ToolResult(call.id, call.name, text, outcome, duration_ms)
        self.pending = [other for other in self.pending if other.id != call.id]
        if self.has_listeners:
            from sophon.tools.untrusted_text import unfence_text  # lazy: the tools need pydantic

            self.emit(
                ToolCallCompleted(
                    call_id=call.id,
                    tool=call.name,
                    outcome=outcome,
                    duration_ms=duration_ms,
                    result=unfence_text(result.text),
                )
            )

    def call_layer(
        self, layer: CallLayer, *, overhead: Callable[[ModelRequest], str] | None = None
    ) -> AbstractContextManager[None]:
        """Push a call layer, and the text that it will add to a request, and remove them at the end of the block.

        Without the removal a chain that is entered again would apply the layer twice.
        """
        if not callable(layer):
            raise no_function("call_layer", layer)
        if overhead is None:
            return PushedLayers((self.call_layers, layer))
        return PushedLayers((self.call_layers, layer), (self.request_overheads, overhead))

    def model_hook(self, hook: CallLayer) -> AbstractContextManager[None]:
        """Push a layer around every model call of every purpose, and remove it at the end of the block.

        It sees requests as the model gets them, behind all call layers, and responses as the model gives them. Plan
        steps and sub-agents that begin within the block have it, too.
        """
        if not callable(hook):
            raise no_function("model_hook", hook)
        return PushedLayers((self.model_hooks, hook))

    def tool_check(self, check: ToolCheck) -> AbstractContextManager[None]:
        """Add a check of each tool call immediately before it runs, and remove it at the end of the block."""
        if not callable(check):
            raise no_function("tool_check", check)
        return AddedHook(self, "tool_checks", check)

    def result_hook(self, hook: ResultHook) -> AbstractContextManager[None]:
        """Add a function that gets the result of each call that ran, and remove it at the end of the block."""
        if not callable(hook):
            raise no_function("result_hook", hook)
        return AddedHook(self, "result_hooks", hook)

    @property
    def root(self) -> "Context":
        """The turn itself, also in a plan step: it has the messages that people wrote."""
        root = self
        while root.parent is not None:
            root = root.parent
        return root

    def for_call(self, call: ToolCall) -> "Context":
        """Return a context for one tool call: shares everything by reference, has its own `pending` and `results`."""
        # As copy.copy, at a fifth of its cost.
        context = Context(
            *_values(self), services=self.services, stopwatch=self.stopwatch, tool_limiter=self.tool_limiter
        )
        context.pending = [call]
        context.results = {}
        return context

    def child(
        self,
        text: str,
        step: Step,
        *,
        prompt: str | None = None,
        instructions: str | None = None,
        model: str | None = None,
    ) -> "Context":
        """Return a child turn for a plan step or a sub-agent, with the run id `parent/step`.

        It has its own messages, tools, counters and response and no call layers; it shares principal, data owner,
        tally, meter, model hooks and event listeners, and it neither records nor streams. `text` selects its tools and
        decides whether the step is planned in turn; `prompt` is what its model reads, by default the same text.
        `instructions`, its system prompt, and `model` are by default those of this turn.
        """
        if instructions is not None:
            system = [Message("system", instructions)]
        else:
            system = [message for message in self.messages if message.role == "system"]
        return Context(
            run_id=f"{self.run_id}/{step.id}",
            session_id=self.session_id,
            text=text,
            principal=self.principal,
            data_owner=self.data_owner,
            group=self.group,
            channel=self.channel,
            depth=self.depth + 1,
            step=step,
            started_at=self.started_at,
            model=model or self.model,
            max_iterations=self.max_iterations,
            temperature=self.temperature,
            messages=MessageList([*system, Message("user", text if prompt is None else prompt)]),
            tools=self.services.registry.tools,
            excluded_providers=dict(self.excluded_providers),
            tally=self.tally,
            services=self.services,
            stopwatch=self.stopwatch,
            tool_limiter=self.tool_limiter,
            has_listeners=self.has_listeners,
            cancellation=self.cancellation,
            meter=self.meter,
            model_hooks=self.model_hooks.copy(),
            stop_check=self.stop_check,
            recorder=self.recorder,
            parent=self,
        )

    def restore_child(self, state: Mapping[str, Any]) -> "Context":
        """Restore a plan step from its `state()` as a child of this turn; it shares what a `child` shares.

        Raises StateError.
        """
        # Not those of the state: a migration gives a stored turn to its new principal, and not each of its steps.
        whose = {"principal": self.principal, "data_owner": self.data_owner, "group": self.group}
        child = Context.from_state(self.services, {**state, **whose})
        child.stopwatch, child.tool_limiter = self.stopwatch, self.tool_limiter
        child.tally, child.meter, child.cancellation = self.tally, self.meter, self.cancellation
        child.stop_check, child.model_hooks = self.stop_check, self.model_hooks.copy()
        child.recorder, child.has_listeners = self.recorder, self.has_listeners
        child.parent = self
        child.excluded_providers = dict(self.excluded_providers)
        return child


_values = operator.attrgetter(*(each.name for each in fields(Context) if not each.kw_only))
