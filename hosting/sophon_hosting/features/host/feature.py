"""Feature declaration: the description of a host by itself, with operations on its state and its log, and who asks."""

from typing import TYPE_CHECKING, Final

from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature

if TYPE_CHECKING:
    from sophon_hosting.observability.log_buffer import LogBuffer

LOG_BUFFER: "Final[ServiceKey[LogBuffer]]" = ServiceKey("host.log_buffer")
"""The newest log lines; a process that serves no clients keeps none."""

FEATURE: Final = Feature(
    "host",
    operations=[
        "sophon_hosting.operations.current_user",
        "sophon_hosting.features.host.operations",
        "sophon_hosting.features.host.logs",
    ],
)
