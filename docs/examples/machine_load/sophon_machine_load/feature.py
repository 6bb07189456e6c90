"""Feature declaration: the load of the machine, for operators, for models, and minute by minute."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase
from sophon_machine_load.settings import LoadSettings

if TYPE_CHECKING:
    from sophon import Services
    from sophon.tools.tool import Tool
    from sophon_machine_load.recorder import LoadRecorder

LOAD_RECORDER: "Final[ServiceKey[LoadRecorder]]" = ServiceKey("load.recorder")


def _create_recorder(process: HostProcess) -> "LoadRecorder | None":
    # A worker serves nobody who could ask.
    if not process.serves_clients or not process.services.settings.section(LoadSettings).enabled:
        return None
    from sophon_machine_load.recorder import LoadRecorder  # lazy: only a host that is served needs it

    return LoadRecorder(process.services.clock, process.host.event_bus.emit)


def _list_tools(services: "Services") -> "Sequence[Tool]":
    from sophon_machine_load.tools import machine_load  # lazy: see above

    return [machine_load]


FEATURE: Final = Feature(
    "load",
    operations=["sophon_machine_load.operations"],
    tools=_list_tools,
    services=[FeatureService(_create_recorder, Phase.AFTER_TURNS, LOAD_RECORDER)],
    events=["sophon_machine_load.events:LoadMeasured"],
)
