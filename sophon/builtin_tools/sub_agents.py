"""Sub-agent: a child turn through the whole chain, with an agent's own prompt, tools, model and limits.

    spawning ──> working ──> completed | failed | timed_out | cancelled

What the child shares with its parent it shares by reference: principal, tally, meter, budget, taint, cancellation. Its
state is part of its parent's, by the call that runs it, so that a suspended or killed turn continues it where it was.
"""

import difflib
import hashlib
import logging
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Self, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.agents.agent_runtime import AgentRuntime
from sophon.agents.definition import AgentDefinition
from sophon.agents.prompt import build_agent_prompt
from sophon.builtin_tools.sub_agent_work import SubAgentEnd, SubAgentWork
from sophon.context import Context, Step, TurnRunner
from sophon.errors import ChainError, NotFound, StoreError, ToolError
from sophon.events import AgentState, SubAgentChanged
from sophon.extensions import Key
from sophon.failure_log import log_failure
from sophon.invisible_characters import render_for_person
from sophon.stores.sub_agents.sub_agent_run import FINAL_STATES, SubAgentRun
from sophon.tools.tool import CallSuspended
from sophon.turn.agent import TURN_AGENT, TurnAgent, find_agent_depth
from sophon.turn.provenance import is_of_program

MAX_ROUNDS: Final = 20
"""Rounds of tool calls of a sub-agent at most: it has one task of a turn, not a turn."""

log = logging.getLogger("sophon.agents")

MAX_TASK_CHARACTERS = 200
"""Characters of a task in events and in the ledger."""

MAX_DETAIL_CHARACTERS = 1000


@dataclass(slots=True)
class OpenAgents:
    """The unfinished sub-agents of a turn by the id of the call that runs them.

    `active` are those of this process, `saved` the states of a restored turn; `seconds` is the time that each took
    before its turn was suspended.
    """

    active: dict[str, Context] = field(default_factory=dict[str, Context])
    saved: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def close(self, call_id: str) -> None:
        """Forget a sub-agent that has ended."""
        self.active.pop(call_id, None)
        self.seconds.pop(call_id, None)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; the state of an active turn as a snapshot."""
        turns = {**self.saved, **{call_id: turn.snapshot() for call_id, turn in self.active.items()}}
        return {"turns": turns, "seconds": dict(self.seconds)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        return cls(saved=dict(data["turns"]), seconds=dict(data["seconds"]))


OPEN_AGENTS: Key[OpenAgents] = Key("agents.open", dump=OpenAgents.to_json, load=OpenAgents.from_json)


async def run_sub_agent(ctx: Context, name: str, task: str) -> str:
    """Run the sub-agent of the one pending call of `ctx`, or continue it, and return its answer.

    Raises ToolError if it cannot run, fails, is cancelled or exceeds its time, CallSuspended if it waits for a person,
    and BudgetExceeded.
    """
    runtime, call_id = ctx.services.assistant.agents, ctx.pending[0].id
    if runtime is None:
        raise ToolError("there are no agents here")
    if ctx.pipeline is None:
        raise ChainError("sub-agents need the turn's pipeline: run the turn through Pipeline.run")
    opened = ctx.get(OPEN_AGENTS)
    if opened is None:
        opened = OpenAgents()
        ctx.put(OPEN_AGENTS, opened)
    definition = _find_definition(ctx, runtime, name)
    child = opened.active.get(call_id) or _open_child(ctx, opened, definition, call_id, task)
    opened.active[call_id] = child
    report = SubAgentReport(child, ctx, definition.name, task, call_id)
    try:
        with runtime.running.opened(ctx.principal):
            end = await _run_in_slot(ctx, child, runtime, definition, report, opened.seconds.get(call_id, 0.0))
    except ToolError as error:
        opened.close(call_id)
        await report("failed", str(error))
        raise
    except BaseException:  # the turn itself ends; what is open stays open, for a chain that is entered again
        await report("cancelled" if ctx.cancellation.is_requested else "failed", "the turn ended")
        raise
    if end.state == "working":
        opened.seconds[call_id] = end.seconds
        await report("working", end.text)
        raise CallSuspended
    opened.close(call_id)
    await report(end.state, "" if end.state == "completed" else end.text)
    if end.state != "completed":
        raise ToolError(f"the agent {definition.name} {_DESCRIPTIONS[end.state]}: {end.text}")
    return end.text


class SubAgentReport:
    """Reports the states of a sub-agent. What the store refuses is logged: the ledger is no part of the work."""

    def __init__(self, child: Context, parent: Context, agent: str, task: str, call_id: str) -> None:
        self._child, self._parent_id, self._agent, self._call_id = child, parent.run_id, agent, call_id
        self._task = render_for_person(_redact(parent, task), MAX_TASK_CHARACTERS)
        self._depth = find_agent_depth(child)
        self._created_at = child.services.clock.now()

    async def __call__(self, state: AgentState, detail: str = "") -> None:
        """Report a state."""
        child = self._child
        detail = _redact(child, detail)[:MAX_DETAIL_CHARACTERS]
        child.emit(
            SubAgentChanged(
                agent_id=child.run_id,
                agent=self._agent,
                state=state,
                parent_id=self._parent_id,
                depth=self._depth,
                task=self._task,
                detail=detail,
                call_id=self._call_id,
            )
        )
        row = SubAgentRun(
            child.run_id,
            child.task_id,
            self._parent_id,
            self._agent,
            child.session_id,
            child.principal,
            self._task,
            state,
            self._depth,
            self._created_at,
            child.services.clock.now() if state in FINAL_STATES else None,
            detail,
        )
        try:
            await child.services.store.sub_agents.put([row])
        except StoreError as error:
            log_failure(log, error, "the ledger has no state %s of %s", state, child.run_id)

    async def is_cancel_requested(self) -> bool:
        """Return whether somebody has asked for its cancellation, perhaps in another process."""
        try:
            row = await self._child.services.store.sub_agents.find(self._child.run_id)
        except StoreError as error:
            log_failure(log, error, "whether %s is to be cancelled is not known", self._child.run_id)
            return False
        return row is not None and row.cancel_requested


async def _run_in_slot(
    ctx: Context,
    child: Context,
    runtime: AgentRuntime,
    definition: AgentDefinition,
    report: SubAgentReport,
    used_seconds: float,
) -> SubAgentEnd:
    pipeline = _find_pipeline(ctx, runtime, definition)
    await report("spawning")
    await _acquire_slot(ctx, runtime)
    try:
        await report("working")
        work = SubAgentWork(
            child,
            runtime,
            pipeline,
            definition.name,
            parent_id=ctx.run_id,
            is_cancel_requested=report.is_cancel_requested,
        )
        return await work.run(_limit_seconds(ctx, definition), used_seconds=used_seconds)
    finally:
        runtime.slots.release(ctx.task_id)


_DESCRIPTIONS: Mapping[AgentState, str] = {
    "failed": "failed",
    "timed_out": "was stopped",
    "cancelled": "was cancelled",
}


def sub_agent_step_id(agent: str, call_id: str) -> str:
    """Return the sub-agent's part of the run id, the same whenever the call is run again."""
    return f"agent-{agent}-{hashlib.sha256(call_id.encode()).hexdigest()[:10]}"


def _find_definition(ctx: Context, runtime: AgentRuntime, name: str) -> AgentDefinition:
    agents = runtime.catalog.current.agents
    if name in agents:
        return agents[name]
    near = difflib.get_close_matches(name, agents, n=3, cutoff=0.4) or list(agents)[:20]
    raise ToolError(f"there is no agent {name!r}; the agents are {', '.join(near) or 'none'}")


def _open_child(ctx: Context, opened: OpenAgents, definition: AgentDefinition, call_id: str, task: str) -> Context:
    saved = opened.saved.pop(call_id, None)
    if saved is not None:
        return ctx.restore_child(saved)
    settings = ctx.services.settings.agents
    if find_agent_depth(ctx) >= settings.max_depth:
        raise ToolError(f"agents may run agents {settings.max_depth} deep at most (Agents.MaxDepth); do it yourself")
    _check_unattended_limit(ctx)
    if definition.model is not None:
        try:
            ctx.services.gateway.find(definition.model)
        except NotFound as error:
            raise ToolError(f"the agent {definition.name} cannot run: {error}") from error
    step = Step(sub_agent_step_id(definition.name, call_id), model_hint=definition.hint)
    child = ctx.child(task, step, instructions=build_agent_prompt(definition), model=definition.model)
    child.put(TURN_AGENT, TurnAgent.of(definition, max_rounds=MAX_ROUNDS))
    return child


def _check_unattended_limit(ctx: Context) -> None:
    """Raise ToolError if as many agents work for the person as may without them: for goals `Limits.RunningAgents`."""
    runtime = ctx.services.assistant.agents
    limit = ctx.services.settings.limit_unattended_agents() if is_of_program(ctx) else None
    if limit is not None and runtime is not None:
        running = runtime.running.count_opened(ctx.principal)
        if running >= limit:
            raise ToolError(f"{running}/{limit} running agents; do it yourself, or wait")


async def _acquire_slot(ctx: Context, runtime: AgentRuntime) -> None:
    """Wait for a slot; a sub-agent within another one does not wait, see `AgentSlots`."""
    if find_agent_depth(ctx) == 0:
        await runtime.slots.acquire(ctx.task_id)
    elif not runtime.slots.try_acquire(ctx.task_id):
        raise ToolError(
            f"too many agents work now: at most {runtime.slots.per_turn} in a turn and "
            f"{runtime.slots.total} in all; do it yourself, or ask them one after the other"
        )


def _limit_seconds(ctx: Context, definition: AgentDefinition) -> float:
    most = ctx.services.settings.agents.timeout.total_seconds()
    return min(most, definition.timeout_seconds or most)


def _find_pipeline(ctx: Context, runtime: AgentRuntime, definition: AgentDefinition) -> TurnRunner:
    """Return the chain that the definition names, else that of the turn. Raises ToolError."""
    assert ctx.pipeline is not None
    if not definition.chain:
        return ctx.pipeline
    if runtime.find_chain is None:
        raise ToolError(f"the agent {definition.name} needs the chain {definition.chain!r}, which there is not here")
    try:
        return cast(TurnRunner, runtime.find_chain(definition.chain))
    except NotFound as error:
        raise ToolError(f"the agent {definition.name} cannot run: {error}") from error


def _redact(ctx: Context, text: str) -> str:
    return text if ctx.redactor is None else ctx.redactor(text)
