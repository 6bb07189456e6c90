"""Factory of the task queue from the settings."""

from sophon.errors import SettingsError
from sophon.services import Services
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.memory import MemoryQueue


def build_queue(services: Services) -> TaskQueue:
    """Build the queue of `Queue.Backend`. Raises SettingsError for an unsupported backend instead of falling back."""
    queue = services.settings.queue
    if queue.backend != "Memory":
        raise SettingsError([f"Queue.Backend: {queue.backend!r} is not supported by this version; use 'Memory'"])
    return MemoryQueue(queue.capacity, clock=services.clock)
