"""Factory of the task queue from the settings."""

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias, cast

from sophon.errors import SettingsError
from sophon.plugins.entry_points import find_entry_points, load_entry_point
from sophon.services import Services
from sophon.settings import has_several_users
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.memory import MemoryQueue

QUEUES_GROUP = "sophon.queues"

QueueFactory: TypeAlias = Callable[[Services, float], TaskQueue]
"""Builds a queue from the settings of services (`Queue`), and the part of its capacity that one owner may fill."""

_FACTORIES: dict[str, tuple[str, str, str]] = {
    "Redis": ("sophon_hosting.queue.redis_streams.queue", "build_redis_queue", "redis"),
    "RabbitMq": ("sophon_hosting.queue.rabbitmq.queue", "build_rabbitmq_queue", "rabbitmq"),
    "Postgres": ("sophon_hosting.queue.postgresql.queue", "build_postgres_queue", "postgres"),
}
"""Module, function and extra of each backend with a server; its client library is imported only when it is used."""


def build_queue(services: Services, *, is_shared: bool = False) -> TaskQueue:
    """Build the queue of `Queue.Backend`.

    With `is_shared` (also if the settings have several users or a channel) one owner may fill `Queue.OwnerShare` of it,
    else all of it. Raises SettingsError for a backend that is not there, or whose library is not installed.
    """
    backend = services.settings.queue.backend
    if backend == "Memory":
        return build_memory_queue(services, is_shared=is_shared)
    return _find_factory(backend)(services, _owner_share(services, is_shared))


def build_memory_queue(services: Services, *, is_shared: bool = False) -> MemoryQueue:
    """Build an in-memory queue with the settings of the services; see `build_queue`."""
    queue = services.settings.queue
    return MemoryQueue(
        queue.capacity,
        max_deliveries=queue.max_deliveries,
        owner_share=_owner_share(services, is_shared),
        clock=services.clock,
    )


def _owner_share(services: Services, is_shared: bool) -> float:
    return services.settings.queue.owner_share if is_shared or has_several_users(services.settings) else 1.0


def _find_factory(backend: str) -> QueueFactory:
    built_in = _FACTORIES.get(backend)
    if built_in is None:
        return _load_plugin(backend)
    module, function, extra = built_in
    try:
        return cast("QueueFactory", getattr(import_module(module), function))
    except ModuleNotFoundError as error:
        name = f"sophon-agents[{extra}]"
        raise SettingsError(
            [f"Queue.Backend: {backend} needs the package {error.name}, which is not installed; install {name}"]
        ) from error


def _load_plugin(backend: str) -> QueueFactory:
    plugins = find_entry_points(QUEUES_GROUP)
    if backend not in plugins:
        names = ", ".join(["Memory", *_FACTORIES, *sorted(plugins)])
        raise SettingsError([f"Queue.Backend: there is no queue {backend!r}; there are {names}"])
    factory = load_entry_point(plugins[backend])
    if not callable(factory):
        raise SettingsError([f"Queue.Backend: the entry point {backend!r} of {QUEUES_GROUP} is not a function"])
    return cast("QueueFactory", factory)
