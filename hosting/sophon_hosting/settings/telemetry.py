"""Settings of OpenTelemetry: where traces and metrics are sent."""

from collections.abc import Iterator

from sophon.settings.root import RootSection, Settings
from sophon.settings.types.field_types import Flag, WebUrl
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field


class TelemetrySettings(RootSection, key="Telemetry", description="Export of traces and metrics with OpenTelemetry."):
    """OpenTelemetry: spans and metrics of turns, sent to a collector; needs the extra `otel`."""

    endpoint: WebUrl | None = Field(
        default=None,
        description="URL of a collector that takes OTLP over HTTP, as http://127.0.0.1:4318; null: nothing is sent, "
        "and no trace context is passed on.",
    )
    content: Flag = Field(
        default=False,
        description="Whether messages, answers and arguments of tools are sent too, with their secrets replaced.",
    )
    headers: dict[str, Secret] = Field(default={}, description="Headers of each request, as Authorization.")
    service_name: str = Field(default="sophon", min_length=1, description="Name of this service in the collector.")

    def find_root_conflicts(self, settings: Settings) -> Iterator[str]:
        """Yield a conflict for an endpoint without traces."""
        if self.endpoint is not None and not settings.traces.enabled:
            yield "Endpoint needs Traces.Enabled: what is exported are the traces of turns"
