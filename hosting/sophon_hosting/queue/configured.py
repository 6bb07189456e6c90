"""The queue that the settings ask for."""

from sophon.errors import SettingsError
from sophon.services import Services
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.memory import MemoryQueue


def queue_of(services: Services) -> TaskQueue:
    """Raises SettingsError for a backend that is not there: tasks would wait elsewhere than the settings say."""
    queue = services.settings.queue
    if queue.backend != "Memory":
        raise SettingsError([f"Queue.Backend: {queue.backend!r} is no part of this version; write 'Memory'"])
    return MemoryQueue(queue.capacity, clock=services.clock)
