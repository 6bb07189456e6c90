"""Exporter of traces to an OpenTelemetry collector, over OTLP/HTTP in background threads."""

# An optional package: this file is checked without it, too.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false, reportUnknownLambdaType=false

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from sophon._version import __version__
from sophon.security import redact_and_cut
from sophon.traces.trace import Trace
from sophon_hosting.settings.telemetry import TelemetrySettings
from sophon_hosting.telemetry.model_call_histograms import TurnMetrics
from sophon_hosting.telemetry.sdk_spans import SpanBuilder
from sophon_hosting.telemetry.turn_spans import TurnContent

log = logging.getLogger("sophon")

MAX_QUEUED_SPANS: Final = 8192
"""Spans that wait for the collector; further ones are dropped."""

BATCH_SPANS: Final = 512
BATCH_SECONDS: Final = 2.0
MAX_CONTENT_CHARACTERS: Final = 8000
SHUTDOWN_SECONDS: Final = 5.0
EXPORT_SECONDS: Final = 10.0
"""Time of one export, its retries included; the default of OpenTelemetry."""
"""Time for the last export when the host stops; what does not get through by then is lost."""


class TelemetryExporter:
    """Sends the traces of finished turns as spans and metrics. A collector that is away costs a turn nothing.

    The queue is bounded, and exporting happens in threads of the SDK. The first failure is logged, and the first
    success after it; the SDK's own log lines are not.
    """

    def __init__(self, settings: TelemetrySettings, headers: Mapping[str, str], providers: Mapping[str, str]) -> None:
        assert settings.endpoint is not None
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
        base, self._content = str(settings.endpoint).rstrip("/"), settings.content
        resource = Resource.create({"service.name": settings.service_name, "service.version": __version__})
        state = ExportState(base)
        spans = OTLPSpanExporter(f"{base}/v1/traces", headers=dict(headers), timeout=EXPORT_SECONDS)
        self._processor = BatchSpanProcessor(
            LoggedSpanExporter(spans, state),
            max_queue_size=MAX_QUEUED_SPANS,
            schedule_delay_millis=BATCH_SECONDS * 1000,
            max_export_batch_size=BATCH_SPANS,
        )
        metrics = LoggedMetricExporter(f"{base}/v1/metrics", headers=dict(headers), timeout=EXPORT_SECONDS)
        metrics.state = state
        self._metrics = TurnMetrics(metrics, resource, providers)
        self._builder = SpanBuilder(resource, providers)

    def export(self, trace: Trace, request: str = "", reply: str = "", *, sampled: bool = True) -> None:
        """Hand a trace over to the background; never blocks, never raises. The texts count only with `Content`."""
        try:
            content = None
            if self._content:
                content = TurnContent(*(redact_and_cut(text, MAX_CONTENT_CHARACTERS) for text in (request, reply)))
            for span in self._builder.build(trace, content, sampled=sampled):
                self._processor.on_end(span)
            self._metrics.record(trace)
        except Exception:
            log.exception("the trace of run %s could not be exported", trace.run_id)

    def flush(self) -> None:
        """Export what waits; blocks."""
        self._processor.force_flush(int(SHUTDOWN_SECONDS * 1000))
        self._metrics.flush(SHUTDOWN_SECONDS)

    def shutdown(self) -> None:
        """Export what waits and end the threads; blocks for `SHUTDOWN_SECONDS` at most."""
        # A daemon: a collector that does not answer must not keep the process.
        thread = threading.Thread(target=self._shutdown, name="telemetry-shutdown", daemon=True)
        thread.start()
        thread.join(SHUTDOWN_SECONDS)

    def _shutdown(self) -> None:
        self._processor.shutdown()  # type: ignore[no-untyped-call] # its library has no annotation there
        self._metrics.shutdown(SHUTDOWN_SECONDS)


class ExportState:
    """Whether exporting fails now; logs each change once, whichever of spans and metrics finds it."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint, self._fails, self._lock = endpoint, False, threading.Lock()

    def note(self, *, succeeded: bool) -> None:
        """Note the result of an export."""
        with self._lock:
            changed, self._fails = self._fails is succeeded, not succeeded
        if changed and succeeded:
            log.info("telemetry is exported to %s again", self._endpoint)
        elif changed:
            log.warning("telemetry cannot be exported to %s; it is dropped until that answers", self._endpoint)


class LoggedSpanExporter(SpanExporter):
    """Span exporter that notes the results of another one, whose exceptions count as failures."""

    def __init__(self, inner: SpanExporter, state: ExportState) -> None:
        self._inner, self._state = inner, state

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See `SpanExporter.export`."""
        try:
            result = self._inner.export(spans)
        except Exception:  # noqa: BLE001 - noted; the thread goes on
            result = SpanExportResult.FAILURE
        self._state.note(succeeded=result is SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """See `SpanExporter.shutdown`."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See `SpanExporter.force_flush`."""
        return self._inner.force_flush(timeout_millis)


class LoggedMetricExporter(OTLPMetricExporter):
    """OTLP metric exporter that notes its results."""

    state: ExportState | None = None

    def export(self, metrics_data: MetricsData, *arguments: Any, **options: Any) -> MetricExportResult:
        """See `MetricExporter.export`."""
        try:
            result = super().export(metrics_data, *arguments, **options)
        except Exception:  # noqa: BLE001 - noted; the thread goes on
            result = MetricExportResult.FAILURE
        if self.state is not None:
            self.state.note(succeeded=result is MetricExportResult.SUCCESS)
        return result
