"""Spans of the OpenTelemetry SDK, made of those of a finished turn.

They are built when the turn has ended, with the times and ids that the trace has, and handed to the processor as ended
spans; so the SDK's tracer, whose ids cannot be chosen, is not needed.
"""

# An optional package: this file is checked without it, too.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false, reportUnknownLambdaType=false

from collections.abc import Mapping, Sequence
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from sophon._version import __version__
from sophon.traces.trace import Trace
from sophon_hosting.telemetry.turn_spans import TurnContent, TurnSpan, build_turn_spans

SCOPE: Final = InstrumentationScope("sophon", __version__)


class SpanBuilder:
    """Builds the spans of traces. `providers` names the systems (`openai`) of provider ids."""

    def __init__(self, resource: Resource, providers: Mapping[str, str]) -> None:
        self._resource, self._providers = resource, providers

    def build(
        self, trace: Trace, content: TurnContent | None = None, *, sampled: bool = True
    ) -> Sequence[ReadableSpan]:
        """Return the spans of a turn, its own first."""
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)

        def context(span_id: str) -> SpanContext:
            return SpanContext(int(trace.trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=flags)

        def convert(span: TurnSpan) -> ReadableSpan:
            return ReadableSpan(
                span.name,
                context(span.span_id),
                context(span.parent_id) if span.parent_id else None,
                self._resource,
                span.attributes,
                [Event(each.name, each.attributes, each.at_ns) for each in span.notes],
                kind=SpanKind.CLIENT if span.is_client else SpanKind.INTERNAL,
                status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
                start_time=span.start_ns,
                end_time=span.end_ns,
                instrumentation_scope=SCOPE,
            )

        return [convert(each) for each in build_turn_spans(trace, self._providers, content)]
