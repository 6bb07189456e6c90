"""Folding of a turn's events into the parts of its trace; events of an earlier start are those that were logged."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from sophon import events
from sophon.messages import NO_USAGE, Usage
from sophon.security import redact_and_cut
from sophon.traces.published_stages import DURATION_FIELD
from sophon.traces.trace import (
    AgentTrace,
    ApprovalTrace,
    AttemptTrace,
    NoteTrace,
    PromptPart,
    StepTrace,
    ToolTrace,
    Trace,
    VerdictTrace,
)

TimedEvent: TypeAlias = tuple[float, events.Event]
"""An event, and the milliseconds from the start of the turn to its emission."""

MAX_SUMMARY_CHARACTERS: Final = 300
MAX_READ_CHARACTERS: Final = 4000
"""Of an argument; more than `redact_and_cut` reads for a summary."""

MAX_NOTE_CHARACTERS: Final = 200
MAX_NOTE_ITEMS: Final = 20

_HIDDEN_FIELDS: Final = frozenset({"session_id", "task_id", "run_id", "seq", "texts", "entry_ids", "arguments"})


class TraceFolder:
    """Parts of a trace, built from events in their order; `earlier` is the trace of earlier starts.

    `find_risk` returns the risk of a tool by its name, "" if it is unknown; `redact` replaces further secrets.
    """

    def __init__(
        self,
        earlier: Trace | None = None,
        *,
        find_risk: Callable[[str], str] = lambda _: "",
        redact: Callable[[str], str] | None = None,
    ) -> None:
        self._find_risk, self._redact = find_risk, redact
        self.attempts = list(earlier.attempts) if earlier is not None else []
        # Call ids are those of a model, and the same ones may come again in a plan step or a sub-agent.
        self.tools = {(each.step, each.call_id): each for each in earlier.tools} if earlier is not None else {}
        self.approvals = {each.approval_id: each for each in earlier.approvals} if earlier is not None else {}
        self.steps = {each.id: each for each in earlier.steps} if earlier is not None else {}
        self.agents = {each.id: each for each in earlier.agents} if earlier is not None else {}
        self.prompt = dict.fromkeys(earlier.prompt) if earlier is not None else {}
        self.notes = list(earlier.notes) if earlier is not None else []

    def fold(self, timed: Iterable[TimedEvent]) -> None:
        """Add events."""
        for at, event in timed:
            if event.in_trace:
                _HANDLERS.get(type(event), TraceFolder._note)(self, at, event)

    def sum_usage(self) -> Usage:
        """Return the usage of all attempts."""
        return sum((each.usage for each in self.attempts), NO_USAGE)

    def _attempt(self, at: float, event: events.ModelAttempt) -> None:
        self.attempts.append(
            AttemptTrace(
                event.model,
                event.purpose,
                event.outcome,
                round(max(at - event.duration_ms, 0.0), 3),
                event.duration_ms,
                event.usage,
                event.key,
                event.first_token_ms,
                self._shorten(event.detail, MAX_NOTE_CHARACTERS),
                event.span_id,
                _step_of(event),
            )
        )

    def _tool_started(self, at: float, event: events.ToolCallStarted) -> None:
        key = (_step_of(event), event.call_id)
        known = self.tools.get(key)
        self.tools[key] = ToolTrace(
            event.call_id,
            event.tool,
            "running",
            at,
            arguments=self._summarize(event.arguments),
            arguments_digest=event.arguments_digest,
            risk=self._find_risk(event.tool),
            verdicts=() if known is None else known.verdicts,
            step=_step_of(event),
        )

    def _tool_completed(self, at: float, event: events.ToolCallCompleted) -> None:
        key = (_step_of(event), event.call_id)
        started = self.tools.get(key) or ToolTrace(
            event.call_id, event.tool, "", at, risk=self._find_risk(event.tool), step=_step_of(event)
        )
        self.tools[key] = replace(
            started, outcome=event.outcome, duration_ms=event.duration_ms, result_characters=len(event.result)
        )

    def _verdict(self, at: float, event: events.GuardVerdict) -> None:
        key = (_step_of(event), event.call_id)
        call = self.tools.get(key)
        if call is None:
            summary = self._summarize(event.arguments) if event.arguments else ""
            risk = self._find_risk(event.tool) if event.tool else ""
            call = ToolTrace(event.call_id, event.tool, "pending", at, 0, summary, risk=risk, step=_step_of(event))
        verdict = VerdictTrace(event.guard, event.verdict, event.rule, event.tier)
        self.tools[key] = replace(call, tool=call.tool or event.tool, verdicts=(*call.verdicts, verdict))

    def _approval_requested(self, at: float, event: events.ApprovalRequested) -> None:
        self.approvals.setdefault(
            event.approval_id, ApprovalTrace(event.approval_id, event.kind, event.tool, event.risk, at)
        )

    def _approval_resolved(self, at: float, event: events.ApprovalResolved) -> None:
        asked = self.approvals.get(event.approval_id)
        if asked is not None and asked.decided_ms is None:
            self.approvals[event.approval_id] = replace(
                asked, decided_ms=at, decision=event.decision, decided_by=event.decided_by
            )

    def _plan(self, at: float, event: events.PlanProposed) -> None:
        steps = event.plan.get("steps", ())
        data = {"goal": self._shorten(str(event.plan.get("goal", "")), MAX_NOTE_CHARACTERS), "steps": len(steps)}
        self.notes.append(NoteTrace(event.wire_name, at, data, _step_of(event)))

    def _step_changed(self, at: float, event: events.PlanStepChanged) -> None:
        known = self.steps.get(event.step_id)
        start = at if known is None or event.status == "running" else known.start_ms
        took = round(at - start, 3)
        self.steps[event.step_id] = StepTrace(
            event.step_id, event.status, start, took, self._shorten(event.reason, MAX_NOTE_CHARACTERS)
        )

    def _agent_changed(self, at: float, event: events.SubAgentChanged) -> None:
        agent_id = _step_of(event)
        known = self.agents.get(agent_id)
        start = at if known is None else known.start_ms
        reason = self._shorten(event.detail, MAX_NOTE_CHARACTERS)
        caller = event.parent_id.partition("/")[2]
        self.agents[agent_id] = AgentTrace(
            agent_id, event.agent, event.state, start, round(at - start, 3), reason, event.call_id, caller
        )

    def _memory(self, _at: float, event: events.MemoryRecalled) -> None:
        self.prompt[PromptPart("memory", f"{len(event.entry_ids)} entries", event.tokens)] = None
        for name in event.files[:MAX_NOTE_ITEMS]:
            self.prompt[PromptPart("file", self._shorten(name, MAX_NOTE_CHARACTERS), 0)] = None

    def _skill(self, _at: float, event: events.SkillLoaded) -> None:
        self.prompt[PromptPart("skill", event.name, event.tokens)] = None

    def _stage(self, at: float, event: events.StageCompleted) -> None:
        if DURATION_FIELD not in event.data:  # a published stage is among the stages of the trace
            self._note(at, event)

    def _note(self, at: float, event: events.Event) -> None:
        data = {name: self._limit(value) for name, value in event.to_wire().items() if name not in _HIDDEN_FIELDS}
        self.notes.append(NoteTrace(event.wire_name, at, data, _step_of(event)))

    def _limit(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._shorten(value, MAX_NOTE_CHARACTERS)
        if isinstance(value, Mapping):
            items: list[tuple[Any, Any]] = list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON data
            return {str(name): self._limit(each) for name, each in items[:MAX_NOTE_ITEMS]}
        if isinstance(value, list | tuple):
            return [self._limit(each) for each in value[:MAX_NOTE_ITEMS]]  # pyright: ignore[reportUnknownVariableType] - JSON data
        return value

    def _summarize(self, arguments: Mapping[str, Any]) -> str:
        bounded = {name: _bound(value) for name, value in list(arguments.items())[:MAX_NOTE_ITEMS]}
        return self._shorten(json.dumps(bounded, ensure_ascii=False, default=str), MAX_SUMMARY_CHARACTERS)

    def _shorten(self, text: str, limit: int) -> str:
        if not text:
            return text
        return redact_and_cut(text if self._redact is None else self._redact(text), limit)


def _bound(value: Any) -> Any:
    """Return an argument of which no more is left than a summary can need, so that a large one costs nothing."""
    if isinstance(value, str):
        return value[:MAX_READ_CHARACTERS]
    if isinstance(value, Mapping | list):
        text = json.dumps(value, ensure_ascii=False, default=str)
        return value if len(text) <= MAX_READ_CHARACTERS else text[:MAX_READ_CHARACTERS]  # pyright: ignore[reportUnknownVariableType] - JSON data
    return value


def _step_of(event: events.Event) -> str:
    return event.run_id.partition("/")[2]


_HANDLERS: Mapping[type[events.Event], Callable[[TraceFolder, float, Any], None]] = {
    events.ModelAttempt: TraceFolder._attempt,  # pyright: ignore[reportPrivateUsage] - its own table
    events.ToolCallStarted: TraceFolder._tool_started,  # pyright: ignore[reportPrivateUsage]
    events.ToolCallCompleted: TraceFolder._tool_completed,  # pyright: ignore[reportPrivateUsage]
    events.GuardVerdict: TraceFolder._verdict,  # pyright: ignore[reportPrivateUsage]
    events.ApprovalRequested: TraceFolder._approval_requested,  # pyright: ignore[reportPrivateUsage]
    events.ApprovalResolved: TraceFolder._approval_resolved,  # pyright: ignore[reportPrivateUsage]
    events.PlanProposed: TraceFolder._plan,  # pyright: ignore[reportPrivateUsage]
    events.PlanStepChanged: TraceFolder._step_changed,  # pyright: ignore[reportPrivateUsage]
    events.SubAgentChanged: TraceFolder._agent_changed,  # pyright: ignore[reportPrivateUsage]
    events.MemoryRecalled: TraceFolder._memory,  # pyright: ignore[reportPrivateUsage]
    events.StageCompleted: TraceFolder._stage,  # pyright: ignore[reportPrivateUsage]
    events.SkillLoaded: TraceFolder._skill,  # pyright: ignore[reportPrivateUsage]
}
