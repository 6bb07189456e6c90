"""Factory of the task queue from the settings."""

from sophon.errors import SettingsError
from sophon.plugins.entry_points import find_entry_points
from sophon.services import Services
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.memory import MemoryQueue

QUEUES_GROUP = "sophon.queues"


def build_queue(services: Services) -> TaskQueue:
    """Build the in-memory queue; the settings accept no other backend yet.

    Raises SettingsError for an installed queue plug-in, which would otherwise be ignored silently.
    """
    if plugins := sorted(find_entry_points(QUEUES_GROUP)):
        names = ", ".join(plugins)
        raise SettingsError([f"entry points {QUEUES_GROUP}: queue plug-ins are not supported by this version: {names}"])
    return MemoryQueue(services.settings.queue.capacity, clock=services.clock)
