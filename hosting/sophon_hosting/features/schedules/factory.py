"""The scheduler of a host and the tools of schedules, if the settings enable them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sophon.services import Services

if TYPE_CHECKING:
    from sophon.tools.tool import Tool
    from sophon_hosting.channels.factory import ConfiguredChannel
    from sophon_hosting.features.schedules.heartbeat import Heartbeat
    from sophon_hosting.features.schedules.scheduler import Scheduler
    from sophon_hosting.host import Host
    from sophon_hosting.runs.outbound import OutboundBuilder


def list_schedule_tools(services: Services) -> "Sequence[Tool]":
    """Return the tools of schedules for the turns of a host; none if schedules are off."""
    if not services.settings.schedules.enabled:
        return ()
    from sophon_hosting.features.schedules.tools import schedule_tools  # lazy: an embedded chain has none

    return schedule_tools()


def create_scheduler(host: "Host", channels: "Sequence[ConfiguredChannel]") -> "Scheduler | None":
    """Return the scheduler of a host, not started; None if schedules are off, and then nothing of it is imported."""
    services = host.services
    if not services.settings.schedules.enabled:
        return None
    from sophon_hosting.channels.owner_rights import OwnerRights  # lazy: see above
    from sophon_hosting.features.schedules.scheduler import Scheduler

    return Scheduler(host, OwnerRights(services, channels).find_problem)


def create_heartbeat(host: "Host") -> "Heartbeat | None":
    """Return the heartbeat of a host, not started; None if it is off, and then nothing of it is imported."""
    if not host.services.settings.schedules.heartbeat.enabled:
        return None
    from sophon_hosting.features.schedules.heartbeat import Heartbeat  # lazy: see above

    return Heartbeat(host)


def build_scheduled_outbound(services: Services, build: "OutboundBuilder") -> "OutboundBuilder":
    """Return a builder of outbound entries that knows the no-op reply, if anything is scheduled at all."""
    settings = services.settings.schedules
    if not settings.enabled and not settings.heartbeat.enabled:
        return build
    from sophon_hosting.features.schedules.silent_replies import keep_silent  # lazy: see above

    return keep_silent(build)
