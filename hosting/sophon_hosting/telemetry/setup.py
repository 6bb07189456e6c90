"""Set-up of OpenTelemetry from the settings; without an endpoint nothing of it is imported."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sophon.errors import SettingsError
from sophon.extras import install_command
from sophon.messages import Response
from sophon.services import Services
from sophon.stores.runs.contract import Run
from sophon.traces.trace import Trace
from sophon.traces.trace_context import parse_traceparent
from sophon_hosting.runs.traces import TRACEPARENT_OPTION

if TYPE_CHECKING:
    from sophon_hosting.telemetry.exporter import TelemetryExporter

MISSING_EXTRA = f"Telemetry.Endpoint: OpenTelemetry is not installed; {install_command('otel')}"


def create_telemetry(services: Services, environment: Mapping[str, str]) -> "TelemetryExporter | None":
    """Return the exporter of a host's traces; None without `Telemetry.Endpoint`, and off the record.

    Raises SettingsError if the extra is not installed.
    """
    settings = services.settings.telemetry
    if settings.endpoint is None or not services.learns:
        return None
    try:
        from sophon_hosting.telemetry.exporter import TelemetryExporter  # lazy: see above
    except ImportError as error:
        raise SettingsError([MISSING_EXTRA]) from error
    resolved = {name: secret.resolve(environment) for name, secret in settings.headers.items()}
    headers = {name: value for name, value in resolved.items() if value is not None}
    providers = {each.id: each.type.lower() for each in services.settings.providers}
    return TelemetryExporter(settings, headers, providers)


class OutcomeExport:
    """Exports the traces of runs that have their outcome."""

    def __init__(self, exporter: "TelemetryExporter") -> None:
        self._exporter = exporter

    def __call__(self, trace: Trace, run: Run, response: Response | None) -> None:
        """Hand a trace over; one whose sender does not record it is not exported."""
        sender = parse_traceparent(run.options.get(TRACEPARENT_OPTION))
        reply = "" if response is None else response.full_text
        self._exporter.export(trace, run.text, reply, sampled=sender is None or sender.sampled)
