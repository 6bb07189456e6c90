"""Feature declaration: schedules: operations, tools, the scheduler and the heartbeat.

Of what the settings switch off nothing is imported.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sophon.services import Services
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase
from sophon_hosting.features.schedules.retention import delete_finished_schedules
from sophon_hosting.features.schedules.settings import SchedulesSettings

if TYPE_CHECKING:
    from sophon.tools.tool import Tool
    from sophon_hosting.features.schedules.heartbeat import Heartbeat
    from sophon_hosting.features.schedules.scheduler import Scheduler
    from sophon_hosting.runs.answer_entries import OutboundBuilder


def _list_tools(services: Services) -> "Sequence[Tool]":
    if not services.settings.section(SchedulesSettings).enabled:
        return ()
    from sophon_hosting.features.schedules.tools import schedule_tools  # lazy: see above

    return schedule_tools()


def create_scheduler(process: HostProcess) -> "Scheduler | None":
    """Return the scheduler of a host, not started; None if schedules are off."""
    services = process.services
    if not services.settings.section(SchedulesSettings).enabled:
        return None
    from sophon_hosting.channels.unattended_owner_rights import OwnerRights  # lazy: see above
    from sophon_hosting.features.schedules.scheduler import Scheduler

    return Scheduler(process.host, OwnerRights(services, process.channels).find_problem)


def create_heartbeat(process: HostProcess) -> "Heartbeat | None":
    """Return the heartbeat of a host, not started; None if it is off."""
    if not process.services.settings.section(SchedulesSettings).heartbeat.enabled:
        return None
    from sophon_hosting.features.schedules.heartbeat import Heartbeat  # lazy: see above

    return Heartbeat(process.host)


def _build_outbound(services: Services, build: "OutboundBuilder") -> "OutboundBuilder":
    """Return a builder of outbound entries that knows the no-op reply, if anything is scheduled at all."""
    settings = services.settings.section(SchedulesSettings)
    if not settings.enabled and not settings.heartbeat.enabled:
        return build
    from sophon_hosting.features.schedules.silent_replies import keep_silent  # lazy: see above

    return keep_silent(build)


FEATURE: Final = Feature(
    "schedules",
    page="schedules.md",
    operations=["sophon_hosting.features.schedules.operations"],
    tools=_list_tools,
    services=[FeatureService(create_scheduler, Phase.TRIGGERS), FeatureService(create_heartbeat, Phase.TRIGGERS)],
    outbound=_build_outbound,
    events=[
        "sophon_hosting.features.schedules.events:ScheduleFired",
        "sophon_hosting.features.schedules.events:ScheduleChanged",
    ],
    tables=["sophon_hosting.features.schedules.store:ScheduleStore"],
    person_data=["sophon_hosting.features.schedules.person_export:SCHEDULES"],
    sweep=delete_finished_schedules,
    session_prefixes=["heartbeat"],
)
