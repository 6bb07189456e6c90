"""Feature declaration: the description of a host by itself, with operations on its state and its log, and who asks."""

from typing import TYPE_CHECKING, Final

from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase

if TYPE_CHECKING:
    from sophon_hosting.features.host.log_buffer import LogBuffer

LOG_BUFFER: Final = ServiceKey["LogBuffer"]("host.log_buffer")
"""The newest log lines; a process that serves no clients keeps none."""


def _create_log_buffer(process: HostProcess) -> "LogBuffer | None":
    if not process.serves_clients:
        return None
    from sophon.composition.configured_secrets import collect_secrets  # lazy: only a host that is served needs it
    from sophon_hosting.features.host.log_buffer import LogBuffer
    from sophon_hosting.observability.log_redaction import LogRedactor

    return LogBuffer(LogRedactor(collect_secrets(process.services.settings, process.environment)))


FEATURE: Final = Feature(
    "host",
    page="operations.md",
    operations=[
        "sophon_hosting.operations.current_user",
        "sophon_hosting.features.host.operations",
        "sophon_hosting.features.host.log_operations",
    ],
    services=[FeatureService(_create_log_buffer, Phase.PROCESS, LOG_BUFFER)],
)
