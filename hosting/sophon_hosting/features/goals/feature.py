"""Feature declaration: goals: operations, tools, the engine that works on them, and the use of unattended work."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase
from sophon_hosting.features.goals.factory import (
    create_goal_deletion,
    create_goal_engine,
    create_use_recorder,
    list_goal_tools,
)
from sophon_hosting.features.goals.retention import delete_ended_goals

if TYPE_CHECKING:
    from sophon_hosting.channels.outbound.chat_notices import ChatNotice
    from sophon_hosting.features.goals.engine import GoalEngine

GOAL_ENGINE: Final = ServiceKey["GoalEngine"]("goals.engine")


def _create_engine(process: HostProcess) -> "GoalEngine | None":
    return create_goal_engine(process.host, process.channels) if process.connects_channels else None


def _list_notices() -> "Sequence[ChatNotice]":
    from sophon_hosting.features.goals.notices import GOAL_NOTICE  # lazy: only a process with channels needs it

    return [GOAL_NOTICE]


FEATURE: Final = Feature(
    "goals",
    operations=["sophon_hosting.features.goals.operations"],
    services=[FeatureService(_create_engine, Phase.WORK, GOAL_ENGINE)],
    notices=_list_notices,
    record_use=create_use_recorder,
    session_work=create_goal_deletion,
    tools=list_goal_tools,
    tools_need_host=False,
    tables=["sophon_hosting.features.goals.store:GoalStore"],
    sweep=delete_ended_goals,
    session_prefixes=["goal"],
)
