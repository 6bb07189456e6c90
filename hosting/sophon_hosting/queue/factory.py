"""Factory of the task queue from the settings."""

from sophon.errors import SettingsError
from sophon.plugins.entry_points import find_entry_points
from sophon.services import Services
from sophon.settings import has_several_users
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.memory import MemoryQueue

QUEUES_GROUP = "sophon.queues"


def build_queue(services: Services, *, is_shared: bool = False) -> TaskQueue:
    """Build the in-memory queue; the settings accept no other backend yet.

    With `is_shared` (also if the settings have several users or a channel) one owner may fill `Queue.OwnerShare` of it,
    else all of it. Raises SettingsError for an installed queue plug-in, which would otherwise be ignored silently.
    """
    if plugins := sorted(find_entry_points(QUEUES_GROUP)):
        names = ", ".join(plugins)
        raise SettingsError([f"entry points {QUEUES_GROUP}: queue plug-ins are not supported by this version: {names}"])
    return build_memory_queue(services, is_shared=is_shared)


def build_memory_queue(services: Services, *, is_shared: bool = False) -> MemoryQueue:
    """Build an in-memory queue with the settings of the services; see `build_queue`."""
    queue = services.settings.queue
    share = queue.owner_share if is_shared or has_several_users(services.settings) else 1.0
    return MemoryQueue(queue.capacity, owner_share=share, clock=services.clock)
