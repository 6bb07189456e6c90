"""Settings sections of traces and of OpenTelemetry."""

from sophon.settings.types.field_types import Flag, WebUrl
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection


class TracesSettings(SettingsSection):
    """Traces of turns: stages, model attempts, tool calls and decisions with their times and cost."""

    enabled: Flag = Field(default=True, description="Whether turns are traced. Those off the record never are.")


class TelemetrySettings(SettingsSection):
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
