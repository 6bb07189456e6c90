"""Feature declaration: schedules: operations, tools, the scheduler and the heartbeat."""

from typing import Final

from sophon_hosting.features.feature import Feature, FeatureService, Phase
from sophon_hosting.features.schedules.factory import (
    build_scheduled_outbound,
    create_heartbeat,
    create_scheduler,
    list_schedule_tools,
)
from sophon_hosting.features.schedules.retention import delete_finished_schedules

FEATURE: Final = Feature(
    "schedules",
    operations=["sophon_hosting.features.schedules.operations"],
    tools=list_schedule_tools,
    services=[
        FeatureService(lambda process: create_scheduler(process.host, process.channels), Phase.TRIGGERS),
        FeatureService(lambda process: create_heartbeat(process.host), Phase.TRIGGERS),
    ],
    outbound=build_scheduled_outbound,
    tables=["sophon_hosting.features.schedules.store:ScheduleStore"],
    sweep=delete_finished_schedules,
    session_prefixes=["heartbeat"],
)
