"""Feature declaration: goals: operations, tools, the engine that works on them, and the use of unattended work.

With goals off nothing is imported but what ends and deletes stored ones.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sophon.services import Services
from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase
from sophon_hosting.features.goals.retention import delete_ended_goals
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.steps.step_option import leave_out_steps
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.store.contract import host_store

if TYPE_CHECKING:
    from sophon.tools.tool import Tool
    from sophon_hosting.channels.outbound.chat_notices import ChatNotice
    from sophon_hosting.events.event_committer import EventCommitter
    from sophon_hosting.features.goals.deletion import GoalDeletion
    from sophon_hosting.features.goals.engine import GoalEngine
    from sophon_hosting.runs.outcomes import RecordUse

GOAL_ENGINE: Final = ServiceKey["GoalEngine"]("goals.engine")


def create_goal_deletion(services: Services, events: "EventCommitter") -> "GoalDeletion":
    """Return what ends the goals of a session that is being deleted: also with goals off, as some may be stored."""
    from sophon_hosting.features.goals.deletion import GoalDeletion  # lazy: only a host needs it

    return GoalDeletion(stored_goals(host_store(services)), events, services.clock)


def create_use_recorder(services: Services) -> "RecordUse | None":
    """Return what records the use of scheduled runs for the limits of their owners; None if goals are off."""
    if not services.settings.section(GoalsSettings).enabled:
        return None
    from sophon_hosting.features.goals.governor import count_use_of_schedules  # lazy: see above

    return count_use_of_schedules(services)


def _list_tools(services: Services) -> "Sequence[Tool]":
    if not services.settings.section(GoalsSettings).enabled:
        return ()
    from sophon_hosting.features.goals.tools import goal_tools  # lazy: see above

    return goal_tools()


def _create_engine(process: HostProcess) -> "GoalEngine | None":
    if not process.connects_channels or not process.services.settings.section(GoalsSettings).enabled:
        return None
    from sophon_hosting.channels.unattended_owner_rights import OwnerRights  # lazy: see above
    from sophon_hosting.features.goals.engine import GoalEngine

    return GoalEngine(process.host, OwnerRights(process.services, process.channels).find_problem)


def _list_notices() -> "Sequence[ChatNotice]":
    from sophon_hosting.features.goals.notices import GOAL_NOTICE  # lazy: only a process with channels needs it

    return [GOAL_NOTICE]


FEATURE: Final = Feature(
    "goals",
    page="goals.md",
    operations=["sophon_hosting.features.goals.operations"],
    services=[FeatureService(_create_engine, Phase.WORK, GOAL_ENGINE)],
    outbound=leave_out_steps,
    notices=_list_notices,
    record_use=create_use_recorder,
    session_work=create_goal_deletion,
    tools=_list_tools,
    tools_need_host=False,
    events=["sophon_hosting.features.goals.events:GoalChanged"],
    tables=["sophon_hosting.features.goals.store:GoalStore"],
    person_data=["sophon_hosting.features.goals.person_export:GOALS"],
    sweep=delete_ended_goals,
    session_prefixes=["goal"],
)
