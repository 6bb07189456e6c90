"""Spans of a turn, made of its finished trace: the turn, its model attempts, tool calls, approvals and plan steps.

They are built when the turn has ended, with the times and ids that the trace has, and handed to the processor as ended
spans; so the SDK's tracer, whose ids cannot be chosen, is not needed.
"""

# An optional package: this file is checked without it, too.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false, reportUnknownLambdaType=false

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from sophon._version import __version__
from sophon.lazy_dataclass import dataclass
from sophon.trace_context import derive_span_id
from sophon.traces.trace import Trace
from sophon_hosting.telemetry.attributes import (
    AGENT_NAME,
    describe_agent,
    describe_attempt,
    describe_note,
    describe_tool,
    describe_turn,
    drop_empty,
    find_error_type,
)

SCOPE: Final = InstrumentationScope("sophon", __version__)
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class TurnContent:
    """What was said, redacted; exported only with `Telemetry.Content`."""

    request: str
    reply: str


class SpanBuilder:
    """Builds the spans of traces. `providers` names the systems (`openai`) of provider ids."""

    def __init__(self, resource: Resource, providers: Mapping[str, str]) -> None:
        self._resource, self._providers = resource, providers

    def build(
        self, trace: Trace, content: TurnContent | None = None, *, sampled: bool = True
    ) -> Sequence[ReadableSpan]:
        """Return the spans of a turn, its own first."""
        return list(_TurnSpans(trace, self._resource, self._providers, content, sampled=sampled).build())


class _TurnSpans:
    def __init__(
        self,
        trace: Trace,
        resource: Resource,
        providers: Mapping[str, str],
        content: TurnContent | None,
        *,
        sampled: bool,
    ) -> None:
        self._trace, self._resource, self._providers, self._content = trace, resource, providers, content
        self._flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        self._start_ns = int(trace.started_at.timestamp() * 1_000_000) * 1000
        self._known = {each.id for each in trace.steps} | {each.id for each in trace.agents}
        self._length_ms = (trace.ended_at - trace.started_at) / _MILLISECOND

    def build(self) -> Iterator[ReadableSpan]:
        yield self._turn_span()
        yield from self._step_spans()
        yield from self._agent_spans()
        yield from self._attempt_spans()
        yield from self._tool_spans()
        yield from self._approval_spans()

    def _turn_span(self) -> ReadableSpan:
        trace = self._trace
        attributes = describe_turn(trace, self._provider(trace.model))
        if self._content is not None:
            attributes["gen_ai.input.messages"] = _to_messages("user", self._content.request)
            attributes["gen_ai.output.messages"] = _to_messages("assistant", self._content.reply)
        parent = self._context(trace.parent_span_id) if trace.parent_span_id else None
        notes = [Event(each.kind, describe_note(each), self._at(each.start_ms)) for each in trace.notes]
        return self._span(
            f"invoke_agent {AGENT_NAME}",
            trace.span_id,
            parent,
            (0.0, self._length_ms),
            attributes,
            error=find_error_type(trace),
            events=notes,
        )

    def _step_spans(self) -> Iterator[ReadableSpan]:
        for each in self._trace.steps:
            yield self._span(
                f"plan_step {each.id}",
                self._step_id(each.id),
                self._own(),
                (each.start_ms, each.start_ms + each.duration_ms),
                {"sophon.plan.step.id": each.id, "sophon.plan.step.status": each.status},
                error="failed" if each.status == "failed" else "",
            )

    def _agent_spans(self) -> Iterator[ReadableSpan]:
        for each in self._trace.agents:
            yield self._span(
                f"invoke_agent {each.agent}",
                self._step_id(each.id),
                self._context(self._call_id(each.step, each.call_id)) if each.call_id else self._parent(each.step),
                (each.start_ms, each.start_ms + each.duration_ms),
                describe_agent(each),
                error=each.state if each.state in ("failed", "timed_out", "cancelled") else "",
            )

    def _attempt_spans(self) -> Iterator[ReadableSpan]:
        for number, each in enumerate(self._trace.attempts):
            attributes = describe_attempt(each, self._provider(each.model))
            yield self._span(
                f"chat {attributes['gen_ai.request.model']}",
                each.span_id or derive_span_id(self._trace.run_id, "attempt", str(number)),
                self._parent(each.step),
                (each.start_ms, each.start_ms + each.duration_ms),
                attributes,
                error="" if each.outcome == "ok" else each.outcome,
                kind=SpanKind.CLIENT,
            )

    def _tool_spans(self) -> Iterator[ReadableSpan]:
        for each in self._trace.tools:
            yield self._span(
                f"execute_tool {each.tool or each.call_id}",
                self._call_id(each.step, each.call_id),
                self._parent(each.step),
                (each.start_ms, each.start_ms + each.duration_ms),
                describe_tool(each, content=self._content is not None),
                error="" if each.outcome == "completed" else each.outcome,
            )

    def _approval_spans(self) -> Iterator[ReadableSpan]:
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
        parent: SpanContext | None,
        times_ms: tuple[float, float],
        attributes: Mapping[str, Any],
        *,
        error: str = "",
        kind: SpanKind = SpanKind.INTERNAL,
        events: Sequence[Event] = (),
    ) -> ReadableSpan:
        return ReadableSpan(
            name,
            self._context(span_id),
            parent,
            self._resource,
            attributes,
            events,
            kind=kind,
            status=Status(StatusCode.ERROR, error) if error else Status(StatusCode.UNSET),
            start_time=self._at(times_ms[0]),
            end_time=self._at(times_ms[1]),
            instrumentation_scope=SCOPE,
        )

    def _context(self, span_id: str) -> SpanContext:
        return SpanContext(int(self._trace.trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=self._flags)

    def _own(self) -> SpanContext:
        return self._context(self._trace.span_id)

    def _step_id(self, step: str) -> str:
        return derive_span_id(self._trace.run_id, "step", step)

    def _call_id(self, step: str, call_id: str) -> str:
        run_id = self._trace.run_id
        return derive_span_id(f"{run_id}/{step}" if step else run_id, call_id)

    def _parent(self, step: str) -> SpanContext:
        """Return the span of a plan step or a sub-agent; that of the nearest known one around it, or of the turn."""
        while step and step not in self._known:
            step = step.rpartition("/")[0]
        return self._context(self._step_id(step)) if step else self._own()

    def _provider(self, model: str) -> str:
        provider = model.partition("/")[0]
        return self._providers.get(provider, provider)

    def _at(self, ms: float) -> int:
        return self._start_ns + int(ms * 1_000_000)


def _to_messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)
