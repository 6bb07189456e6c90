"""Factory of the task queue from the settings."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.entry_points import find_entry_points, load_entry_point
from sophon.errors import SettingsError
from sophon.extras import install_command
from sophon.services import Services
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.in_memory import MemoryQueue
from sophon_hosting.settings.queue import QueueSettings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

QUEUES_GROUP = "sophon.queues"

QueueFactory: TypeAlias = Callable[[Services, float], TaskQueue]
"""Builds a queue from the settings of services (`Queue`), and the part of its capacity that one owner may fill."""


@dataclass(frozen=True, slots=True)
class _Backend:
    """Where a backend with a server is built, its client library, and the extra that installs that."""

    module: str
    function: str
    library: str
    extra: str


_BACKENDS: dict[str, _Backend] = {
    "Redis": _Backend("sophon_hosting.queue.redis_streams.queue", "build_redis_queue", "redis", "redis"),
    "RabbitMq": _Backend("sophon_hosting.queue.rabbitmq.queue", "build_rabbitmq_queue", "aio_pika", "rabbitmq"),
    "Postgres": _Backend("sophon_hosting.queue.postgresql.queue", "build_postgres_queue", "psycopg", "postgres"),
}
"""The backends with a server; the client library of each is imported only when it is used."""


def build_queue(services: Services, *, is_shared: bool = False) -> TaskQueue:
    """Build the queue of `Queue.Backend`.

    With `is_shared` (also if the settings have several users or a channel) one owner may fill `Queue.OwnerShare` of it,
    else all of it. Raises SettingsError for a backend that is not there, or whose library is not installed.
    """
    backend = services.settings.section(QueueSettings).backend
    if backend == "Memory":
        return build_memory_queue(services, is_shared=is_shared)
    return _find_factory(backend)(services, _owner_share(services, is_shared))


def build_memory_queue(services: Services, *, is_shared: bool = False) -> MemoryQueue:
    """Build an in-memory queue with the settings of the services; see `build_queue`."""
    queue = services.settings.section(QueueSettings)
    return MemoryQueue(
        queue.capacity,
        max_deliveries=queue.max_deliveries,
        owner_share=_owner_share(services, is_shared),
        clock=services.clock,
    )


def _owner_share(services: Services, is_shared: bool) -> float:
    settings = services.settings
    return settings.section(QueueSettings).owner_share if is_shared or settings.has_several_users() else 1.0


def check_backend(backend: str) -> None:
    """Raise SettingsError for a backend that is not there, or whose library is not installed; imports none of them."""
    built_in = _BACKENDS.get(backend)
    if backend == "Memory":
        return
    if built_in is None:
        _find_plugin(backend)
    elif find_spec(built_in.library) is None:
        raise _missing_library(backend, built_in)


def _find_factory(backend: str) -> QueueFactory:
    built_in = _BACKENDS.get(backend)
    if built_in is None:
        return _load_plugin(backend)
    try:
        return cast("QueueFactory", getattr(import_module(built_in.module), built_in.function))
    except ImportError as error:  # also of a library that is there and lacks what it needs, as psycopg without libpq
        raise _missing_library(backend, built_in) from error


def _missing_library(backend: str, built_in: _Backend) -> SettingsError:
    missing = f"Queue.Backend: {backend} needs {built_in.library}, which is not installed"
    return SettingsError([f"{missing}; {install_command(built_in.extra)}"])


def _find_plugin(backend: str) -> "EntryPoint":
    plugins = find_entry_points(QUEUES_GROUP)
    if backend not in plugins:
        names = ", ".join(["Memory", *_BACKENDS, *sorted(plugins)])
        raise SettingsError([f"Queue.Backend: there is no queue {backend!r}; there are {names}"])
    return plugins[backend]


def _load_plugin(backend: str) -> QueueFactory:
    factory = load_entry_point(_find_plugin(backend))
    if not callable(factory):
        raise SettingsError([f"Queue.Backend: the entry point {backend!r} of {QUEUES_GROUP} is not a function"])
    return cast("QueueFactory", factory)
