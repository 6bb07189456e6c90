"""Factories of the services of goals: with goals off nothing is imported but what deletes stored ones."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sophon.services import Services
from sophon_hosting.features.goals.stored_goals import stored_goals

if TYPE_CHECKING:
    from sophon.tools.tool import Tool
    from sophon_hosting.channels.factory import ConfiguredChannel
    from sophon_hosting.events.event_committer import EventCommitter
    from sophon_hosting.features.goals.deletion import GoalDeletion
    from sophon_hosting.features.goals.engine import GoalEngine
    from sophon_hosting.host import Host
    from sophon_hosting.runs.outcomes import RecordUse


def list_goal_tools(services: Services) -> "Sequence[Tool]":
    """Return the tools of goals; none if goals are off."""
    if not services.settings.goals.enabled:
        return ()
    from sophon_hosting.features.goals.tools import goal_tools  # lazy: see above

    return goal_tools()


def create_goal_engine(host: "Host", channels: "Sequence[ConfiguredChannel]") -> "GoalEngine | None":
    """Return the goal engine of a host, not started; None if goals are off, and then nothing of it is imported."""
    if not host.services.settings.goals.enabled:
        return None
    from sophon_hosting.channels.owner_rights import OwnerRights  # lazy: see above
    from sophon_hosting.features.goals.engine import GoalEngine

    return GoalEngine(host, OwnerRights(host.services, channels).find_problem)


def create_use_recorder(services: Services) -> "RecordUse | None":
    """Return what records the use of scheduled runs for the limits of their owners; None if goals are off."""
    if not services.settings.goals.enabled:
        return None
    from sophon_hosting.features.goals.governor import count_use_of_schedules  # lazy: see above

    return count_use_of_schedules(services)


def create_goal_deletion(services: Services, events: "EventCommitter") -> "GoalDeletion":
    """Return what ends the goals of a session that is being deleted: also with goals off, as some may be stored."""
    from sophon_hosting.features.goals.deletion import GoalDeletion  # lazy: see above

    return GoalDeletion(stored_goals(services.store), events, services.clock)
