"""The scheduler of a host and the tools of schedules, if the settings enable them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sophon.services import Services

if TYPE_CHECKING:
    from sophon_hosting.channels.factory import ConfiguredChannel
    from sophon_hosting.host import Host
    from sophon_hosting.schedules.scheduler import Scheduler


def register_schedule_tools(services: Services) -> None:
    """Offer the tools of schedules to the turns of a host; it must not have started."""
    if services.settings.schedules.enabled:
        from sophon.builtin_tools.schedules import schedule_tools  # lazy: an embedded chain has none

        for tool in schedule_tools():
            services.register_tool(tool)


def create_scheduler(host: "Host", channels: "Sequence[ConfiguredChannel]") -> "Scheduler | None":
    """Return the scheduler of a host, not started; None if schedules are off, and then nothing of it is imported."""
    services = host.services
    if not services.settings.schedules.enabled:
        return None
    from sophon_hosting.schedules.owner_rights import OwnerRights  # lazy: see above
    from sophon_hosting.schedules.scheduler import Scheduler

    return Scheduler(host, OwnerRights(services, channels).find_problem)
