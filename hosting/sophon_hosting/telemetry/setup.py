"""Set-up of OpenTelemetry from the settings; without an endpoint nothing of it is imported."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sophon.errors import SettingsError
from sophon.extras import install_command
from sophon.messages import Response
from sophon.services import Services
from sophon.traces.trace import Trace
from sophon.traces.trace_context import parse_traceparent
from sophon_hosting.runs.traces import TRACEPARENT_OPTION
from sophon_hosting.settings.telemetry import TelemetrySettings
from sophon_hosting.store.runs.contract import Run

if TYPE_CHECKING:
    from sophon_hosting.telemetry.exporter import TelemetryExporter

MISSING_EXTRA = f"Telemetry.Endpoint: OpenTelemetry is not installed; {install_command('otel')}"


class TraceExport:
    """Exporter of the traces of runs that have their outcome, between `start` and `shutdown`.

    It exports nothing without `Telemetry.Endpoint`, and off the record.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self.is_enabled = (
            services.settings.section(TelemetrySettings).endpoint is not None and services.learning.is_enabled
        )
        self._exporter: TelemetryExporter | None = None

    def start(self, environment: Mapping[str, str]) -> None:
        """Connect to the endpoint. Raises SettingsError if the extra is not installed."""
        if not self.is_enabled:
            return
        settings = self._services.settings.section(TelemetrySettings)
        try:
            from sophon_hosting.telemetry.exporter import TelemetryExporter  # lazy: see above
        except ImportError as error:
            raise SettingsError([MISSING_EXTRA]) from error
        resolved = {name: secret.resolve(environment) for name, secret in settings.headers.items()}
        headers = {name: value for name, value in resolved.items() if value is not None}
        providers = {each.id: each.type.lower() for each in self._services.settings.providers}
        self._exporter = TelemetryExporter(settings, headers, providers)

    def export(self, trace: Trace, run: Run, response: Response | None) -> None:
        """Hand a trace over; one whose sender does not record it is not exported."""
        if self._exporter is None:
            return
        sender = parse_traceparent(run.options.get(TRACEPARENT_OPTION))
        reply = "" if response is None else response.full_text
        self._exporter.export(trace, run.text, reply, sampled=sender is None or sender.sampled)

    async def shutdown(self) -> None:
        """Send what was handed over and disconnect."""
        if self._exporter is not None:
            exporter, self._exporter = self._exporter, None
            await asyncio.to_thread(exporter.shutdown)
