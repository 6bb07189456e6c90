"""Spans of a turn, made of its trace: the turn, its model attempts, tool calls, approvals, plan steps and sub-agents.

They are plain values with the times and ids that the trace has: `spans` makes those of the OpenTelemetry SDK of them,
`otlp_json` the JSON of OTLP.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from sophon._python.lazy_dataclass import dataclass
from sophon.traces.trace import Trace
from sophon.traces.trace_context import derive_span_id
from sophon_hosting.telemetry.span_attributes import (
    AGENT_NAME,
    describe_agent,
    describe_attempt,
    describe_note,
    describe_tool,
    describe_turn,
    drop_empty,
    find_error_type,
)

_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class TurnContent:
    """What was said, redacted; exported only with `Telemetry.Content`."""

    request: str
    reply: str


@dataclass(frozen=True, slots=True)
class SpanNote:
    """Something that happened at one moment of a span."""

    name: str
    attributes: Mapping[str, Any]
    at_ns: int


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """One span; ids are hexadecimal, `parent_id` is "" for none, `error` its type, "" if it succeeded."""

    name: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any]
    error: str = ""
    is_client: bool = False
    notes: Sequence[SpanNote] = ()


def build_turn_spans(
    trace: Trace, providers: Mapping[str, str], content: TurnContent | None = None
) -> Sequence[TurnSpan]:
    """Return the spans of a turn, its own first. `providers` names the systems (`openai`) of provider ids."""
    return list(_TurnSpans(trace, providers, content).build())


class _TurnSpans:
    def __init__(self, trace: Trace, providers: Mapping[str, str], content: TurnContent | None) -> None:
        self._trace, self._providers, self._content = trace, providers, content
        self._start_ns = int(trace.started_at.timestamp() * 1_000_000) * 1000
        self._known = {each.id for each in trace.steps} | {each.id for each in trace.agents}
        self._length_ms = (trace.ended_at - trace.started_at) / _MILLISECOND

    def build(self) -> Iterator[TurnSpan]:
        yield self._turn_span()
        yield from self._step_spans()
        yield from self._agent_spans()
        yield from self._attempt_spans()
        yield from self._tool_spans()
        yield from self._approval_spans()

    def _turn_span(self) -> TurnSpan:
        trace = self._trace
        attributes = describe_turn(trace, self._provider(trace.model))
        if self._content is not None:
            attributes["gen_ai.input.messages"] = _to_messages("user", self._content.request)
            attributes["gen_ai.output.messages"] = _to_messages("assistant", self._content.reply)
        notes = [SpanNote(each.kind, describe_note(each), self._at(each.start_ms)) for each in trace.notes]
        return self._span(
            f"invoke_agent {AGENT_NAME}",
            self._own(),
            trace.parent_span_id,
            (0.0, self._length_ms),
            attributes,
            error=find_error_type(trace),
            notes=notes,
        )

    def _step_spans(self) -> Iterator[TurnSpan]:
        for each in self._trace.steps:
            yield self._span(
                f"plan_step {each.id}",
                self._step_id(each.id),
                self._own(),
                (each.start_ms, each.start_ms + each.duration_ms),
                {"sophon.plan.step.id": each.id, "sophon.plan.step.status": each.status},
                error="failed" if each.status == "failed" else "",
            )

    def _agent_spans(self) -> Iterator[TurnSpan]:
        for each in self._trace.agents:
            yield self._span(
                f"invoke_agent {each.agent}",
                self._step_id(each.id),
                self._call_id(each.step, each.call_id) if each.call_id else self._parent(each.step),
                (each.start_ms, each.start_ms + each.duration_ms),
                describe_agent(each),
                error=each.state if each.state in ("failed", "timed_out", "cancelled") else "",
            )

    def _attempt_spans(self) -> Iterator[TurnSpan]:
        for number, each in enumerate(self._trace.attempts):
            attributes = describe_attempt(each, self._provider(each.model))
            yield self._span(
                f"chat {attributes['gen_ai.request.model']}",
                each.span_id or derive_span_id(self._trace.run_id, "attempt", str(number)),
                self._parent(each.step),
                (each.start_ms, each.start_ms + each.duration_ms),
                attributes,
                error="" if each.outcome == "ok" else each.outcome,
                is_client=True,
            )

    def _tool_spans(self) -> Iterator[TurnSpan]:
        for each in self._trace.tools:
            yield self._span(
                f"execute_tool {each.tool or each.call_id}",
                self._call_id(each.step, each.call_id),
                self._parent(each.step),
                (each.start_ms, each.start_ms + each.duration_ms),
                describe_tool(each, content=self._content is not None),
                error="" if each.outcome == "completed" else each.outcome,
            )

    def _approval_spans(self) -> Iterator[TurnSpan]:
        for each in self._trace.approvals:
            end = self._length_ms if each.decided_ms is None else each.decided_ms
            yield self._span(
                f"approval {each.tool or each.kind}",
                derive_span_id(self._trace.run_id, "approval", each.approval_id),
                self._own(),
                (each.start_ms, end),
                drop_empty(
                    {
                        "sophon.approval.kind": each.kind,
                        "sophon.approval.decision": each.decision,
                        "sophon.tool.risk": each.risk,
                    }
                ),
            )

    def _span(
        self,
        name: str,
        span_id: str,
        parent_id: str,
        times_ms: tuple[float, float],
        attributes: Mapping[str, Any],
        *,
        error: str = "",
        is_client: bool = False,
        notes: Sequence[SpanNote] = (),
    ) -> TurnSpan:
        start, end = map(self._at, times_ms)
        return TurnSpan(name, span_id, parent_id, start, end, attributes, error, is_client, notes)

    def _own(self) -> str:
        return self._trace.span_id or derive_span_id(self._trace.run_id)

    def _step_id(self, step: str) -> str:
        return derive_span_id(self._trace.run_id, "step", step)

    def _call_id(self, step: str, call_id: str) -> str:
        run_id = self._trace.run_id
        return derive_span_id(f"{run_id}/{step}" if step else run_id, call_id)

    def _parent(self, step: str) -> str:
        """Return the span of a plan step or a sub-agent; that of the nearest known one around it, or of the turn."""
        while step and step not in self._known:
            step = step.rpartition("/")[0]
        return self._step_id(step) if step else self._own()

    def _provider(self, model: str) -> str:
        provider = model.partition("/")[0]
        return self._providers.get(provider, provider)

    def _at(self, ms: float) -> int:
        return self._start_ns + int(ms * 1_000_000)


def _to_messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)
