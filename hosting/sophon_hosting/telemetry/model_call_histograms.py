"""Histograms of model calls, by the semantic conventions for generative AI."""

# An optional package: this file is checked without it, too.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false, reportUnknownLambdaType=false

from collections.abc import Mapping
from typing import Final

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from sophon._version import __version__
from sophon.traces.trace import Trace
from sophon_hosting.telemetry.span_attributes import drop_empty, find_error_type

TOKEN_BUCKETS: Final = [4.0**power for power in range(14)]
"""1 to 67,108,864 tokens. Source: the conventions, gen_ai.client.token.usage."""

SECOND_BUCKETS: Final = [0.01 * 2**power for power in range(14)]
"""0.01 to 81.92 seconds. Source: the conventions, gen_ai.client.operation.duration."""

EXPORT_INTERVAL_SECONDS: Final = 60.0


class TurnMetrics:
    """Counts the attempts and turns of finished traces; exported every minute in the background."""

    def __init__(self, exporter: MetricExporter, resource: Resource, providers: Mapping[str, str]) -> None:
        self._providers = providers
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=EXPORT_INTERVAL_SECONDS * 1000)
        self._provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("sophon", __version__)
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Number of input and output tokens used",
            explicit_bucket_boundaries_advisory=TOKEN_BUCKETS,
        )
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "Duration of model calls and turns",
            explicit_bucket_boundaries_advisory=SECOND_BUCKETS,
        )

    def record(self, trace: Trace) -> None:
        """Count a turn. No label holds the id of a session, a task or a person."""
        for each in trace.attempts:
            provider = self._providers.get(each.provider, each.provider)
            model = each.model.partition("/")[2] or each.model
            labels = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider,
                "gen_ai.request.model": model,
            }
            error = {} if each.outcome == "ok" else {"error.type": each.outcome}
            self._seconds.record(each.duration_ms / 1000, {**labels, **error})
            for kind, tokens in (("input", each.usage.input_tokens), ("output", each.usage.output_tokens)):
                if tokens:
                    self._tokens.record(tokens, {**labels, "gen_ai.token.type": kind})
        model = trace.model
        provider = self._providers.get(model.partition("/")[0], model.partition("/")[0])
        turn = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": provider}
        self._seconds.record(trace.working_ms / 1000, drop_empty({**turn, "error.type": find_error_type(trace)}))

    def flush(self, timeout_seconds: float) -> None:
        """Export what was counted."""
        self._provider.force_flush(timeout_seconds * 1000)

    def shutdown(self, timeout_seconds: float) -> None:
        """Export what was counted, and end the background thread."""
        self._provider.shutdown(timeout_seconds * 1000)
