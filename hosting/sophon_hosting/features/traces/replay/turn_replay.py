"""Replay of a turn: its message and history through a chain to a model, with inert tools and a store of its own."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import ApprovalRequest, Decision
from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Pipeline
from sophon.context import Context
from sophon.errors import NotFound, SophonError
from sophon.messages import Message, Response, ToolCall, to_canonical_json
from sophon.principals import STORE_OPERATOR
from sophon.security import describe_error
from sophon.services import Services
from sophon.tools.argument_schema import ArgumentSchema, Check
from sophon.tools.registry import Toolbox, ToolRegistry
from sophon.tools.tool import Tool
from sophon.tools.untrusted_text import ExternalText, find_fence_sources, unfence_text
from sophon.traces.recorder import TracedTurn, TraceRecorder
from sophon.traces.trace import Trace
from sophon.traces.trace_context import TraceContext, derive_span_id, new_trace_id
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.features.traces.replay.recorded_turn import RecordedTurn
from sophon_hosting.features.traces.replay.store import create_replay_store
from sophon_hosting.host_chain import build_named_chain, build_pipelines, place_model_hooks
from sophon_hosting.store.contract import host_store
from sophon_middlewares.chains import CHAINS
from sophon_middlewares.traces.trace import build_failure_trace, build_trace

log = logging.getLogger("sophon")

MAX_REPLAY_SECONDS: Final = 600.0
"""Time of a replay: somebody waits for it. `AgentExecution.MaxExecutionTime` may be less."""

NOT_ASKED: Final = "nobody is asked in a replay"

LEFT_OUT: Final = frozenset({"Audit", "RateLimit", "Snapshot"})
"""Guards that only matter to calls that run: they write files, count calls and keep the log of what was done."""

NOT_RUN: Final = "[not run in a replay: the turn has no recorded result of this tool with these arguments]"
"""Result of a call that the recorded turn did not make."""

ARGUMENTS = "arguments"
"""The one parameter of the function of an inert tool: the arguments as the model sent them."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What a turn is replayed with: a chain by name, by default the configured ones, and a model, by default the
    routing's choice. `keeps_model`: without one, the model that the message of the turn named is asked again.
    """

    chain: str | None = None
    model: str | None = None
    keeps_model: bool = True


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """How a replay went. `asked` are the tools whose calls a person would have been asked about, `reused` and `missing`
    the calls with and without a recorded result.
    """

    chain: str
    answer: str
    finish_reason: str
    trace: Trace
    asked: tuple[str, ...]
    reused: int
    missing: int


class ReplayGate:
    """Approval gate of a replay: approves, because what is approved is inert, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Approve a call or a plan at once; a question to a person has no answer."""
        self.asked.append(request.tool or request.kind)
        if request.kind == "question":
            return Decision.reject(NOT_ASKED)
        return Decision.approve(decided_by=STORE_OPERATOR)


def check_replay_request(services: Services, request: ReplayRequest) -> None:
    """Raise NotFound for a chain that is none of the published ones, or an unknown model."""
    if request.chain is not None and request.chain not in CHAINS:
        raise NotFound("chain", request.chain, sorted(CHAINS))
    if request.model is not None:
        services.gateway.find(request.model)


async def replay_turn(services: Services, turn: RecordedTurn, request: ReplayRequest) -> ReplayedTurn:
    """Run a turn again without any effect but the usage of its model calls, which is charged to the person.

    A turn that fails, or takes too long, has an error in its trace. Raises NotFound for an unknown chain or model.
    """
    check_replay_request(services, request)
    results, gate = RecordedResults(turn.calls), ReplayGate()
    store = await create_replay_store(host_store(services), services.clock, turn)
    view = services.copy_for_replay(store, InertToolbox(services.registry, results), gate)
    chains = _build_chains(view, request.chain)
    ctx = _build_context(view, turn, request)
    recorder = ctx.recorder
    response, failure = await _run(chains, ctx, view)
    ctx.recorder = recorder
    reason = response.finish_reason
    if failure is None:
        trace = build_trace(ctx, "suspended" if reason == "suspended" else "completed", reason)
    else:
        trace = build_failure_trace(ctx, failure)
    if trace is None:  # the recorder could not fold what it has; the log says why
        raise SophonError("the replay ran, but its trace could not be built; see the log")
    return ReplayedTurn(
        chain=request.chain or view.settings.chain.factory or view.settings.chain.name,
        answer=response.full_text,
        finish_reason=trace.finish_reason,
        trace=trace,
        asked=tuple(gate.asked),
        reused=results.reused,
        missing=results.missing,
    )


async def _run(chains: PipelineRegistry, ctx: Context, view: Services) -> tuple[Response, Exception | None]:
    seconds = min(MAX_REPLAY_SECONDS, view.settings.agent_execution.max_execution_time.total_seconds())
    limit = None
    try:
        async with view.clock.timeout(seconds) as limit:
            return await chains.run(ctx), None
    except TimeoutError as error:
        failure = ReplayTimeout(seconds) if limit is not None and limit.expired() else error
        return Response(finish_reason="error"), failure
    except asyncio.CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - of a model, tool or middleware: the comparison shows it
        log.info("a replay of run %s failed: %s", ctx.run_id, describe_error(error))
        return Response(finish_reason="error"), error


class ReplayTimeout(SophonError):
    """Error: a replay took too long (code `replay_timeout`)."""

    code = "replay_timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the replay did not finish within {seconds:g} seconds and was stopped")


def _build_chains(view: Services, name: str | None) -> PipelineRegistry:
    chains = build_pipelines(view)
    if name is not None:
        chains = PipelineRegistry(place_model_hooks(build_named_chain(view, name), chains))
    return chains.map(_leave_out_guards)


def _leave_out_guards(chain: Pipeline) -> Pipeline:
    kept = [each for each in chain if get_middleware_name(each) not in LEFT_OUT]
    return chain if len(kept) == len(list(chain)) else type(chain).compose(*kept)


def _build_context(view: Services, turn: RecordedTurn, request: ReplayRequest) -> Context:
    """Return the turn as it was sent, with the model of the request in place of its own."""
    options = turn.options
    # A chosen chain chooses the model by its own routing, unless one is named.
    named = options.get("model") if request.keeps_model else None
    own_model = None if request.chain is not None else named or turn.session_model
    ctx = view.turn(
        turn.message.content,
        images=turn.message.images,
        session_id=turn.session_id,
        model=request.model or own_model,
        planning=options.get("planning"),
        max_iterations=options.get("max_iterations"),
        temperature=options.get("temperature"),
        tags=options.get("tags", ()),
        principal=turn.owner,
        group=turn.audience.group,
        data_owner=turn.audience.data_owner,
        channel=turn.channel,
    )
    if options.get("instructions"):
        ctx.messages.insert(len(ctx.messages) - 1, Message("system", options["instructions"]))
    span = TraceContext(new_trace_id(), derive_span_id(ctx.run_id))
    traced = TracedTurn(ctx.run_id, turn.session_id, turn.owner, turn.channel, context=span)
    ctx.recorder = TraceRecorder(traced, view.clock)
    ctx.has_listeners = True
    return ctx


class RecordedResults:
    """Results of the calls of a recorded turn by tool and arguments; of equal calls the results in their order.

    `reused` and `missing` count what was asked for, over all tools.

    The functions of the real tools are not reachable from the registry of a replay, so there is no path on which one
    runs.
    """

    def __init__(self, calls: Sequence[tuple[ToolCall, str]]) -> None:
        self._results: dict[tuple[str, bytes], list[str]] = {}
        for call, text in calls:
            self._results.setdefault((call.name, call.canonical_arguments()), []).append(text)
        self.reused = self.missing = 0

    def take(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return the recorded result of a call, the last one again when all were taken; NOT_RUN without any."""
        known = self._results.get((tool, to_canonical_json(arguments)))
        if not known:
            self.missing += 1
            return NOT_RUN
        self.reused += 1
        text = known.pop(0) if len(known) > 1 else known[0]
        # The tool execution puts external text into a fence with a nonce of its own.
        return ExternalText(unfence_text(text)) if find_fence_sources(text) else text  # an ExternalText stays one


class InertToolbox(Toolbox):
    """Toolbox whose tools are all inert, also those that a middleware adds while a turn runs."""

    def __init__(self, tools: Iterable[Tool], results: RecordedResults) -> None:
        self._make_inert: Callable[[Tool], Tool] = lambda tool: make_inert(tool, results)
        super().__init__(ToolRegistry(map(self._make_inert, tools)))

    def add(self, tool: Tool) -> None:
        """See `Toolbox.add`."""
        super().add(self._make_inert(tool))

    def replace(self, source: str, tools: Iterable[Tool]) -> None:
        """See `Toolbox.replace`."""
        super().replace(source, map(self._make_inert, tools))


def make_inert(tool: Tool, results: RecordedResults) -> Tool:
    """Return a tool with the same name, schema and traits, whose function returns a recorded result."""

    async def replay(arguments: Mapping[str, Any]) -> str:
        return results.take(tool.name, arguments)

    # `answer` and the other functions of a tool are the user's code, too.
    return replace(
        tool,
        function=replay,
        schema=_passing_schema(tool),
        approval_note="",
        describe=None,
        answer=None,
        find_problem=None,
        normalize_result=None,
        nested=False,
        timeout_seconds=None,
    )


def _passing_schema(tool: Tool) -> ArgumentSchema:
    """Return the tool's schema, which checks arguments as the tool does, and passes them on as they are."""

    def build() -> tuple[Mapping[str, Any], Check]:
        json_schema, check = tool.schema.build()

        def pass_on(arguments: Mapping[str, Any]) -> dict[str, Any]:
            check(arguments)
            return {ARGUMENTS: dict(arguments)}

        return json_schema, pass_on

    return ArgumentSchema(build, names=tool.schema.names)
