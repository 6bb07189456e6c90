"""Checks of `sophon doctor` on the backends that the settings name (PostgreSQL, Redis, RabbitMQ), each asked once."""

from collections.abc import Iterator, Mapping
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.settings import Settings
from sophon_hosting.programs.doctor import postgresql_checks, rabbitmq_checks, redis_checks
from sophon_hosting.programs.doctor.backend_findings import name_server, unreachable
from sophon_hosting.programs.doctor.findings import DoctorFinding
from sophon_hosting.programs.doctor.postgresql_checks import judge_postgresql
from sophon_hosting.programs.doctor.rabbitmq_checks import judge_rabbitmq
from sophon_hosting.programs.doctor.redis_checks import judge_redis
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.settings.queue import QueueSettings

STORE_CONNECTIONS: Final = 3
QUEUE_CONNECTIONS: Final = 3
FANOUT_CONNECTIONS: Final = 1
"""Connections that one process has open at most: the writer and the readers of the store; those that put, take and
renew; the one that listens.
"""

_ENGINES: Final = {
    "postgres": "postgresql",
    "postgresql": "postgresql",
    "redis": "redis",
    "rediss": "redis",
    "unix": "redis",
    "amqp": "rabbitmq",
    "amqps": "rabbitmq",
}


@dataclass(slots=True)
class EngineUse:
    """A server, the settings that name it, and how many connections one process has to it."""

    engine: str
    url: str
    settings: tuple[str, ...]
    connections: int


def check_engines(settings: Settings, environment: Mapping[str, str], processes: int) -> Iterator[DoctorFinding]:
    """Ask each server and judge what it says. `processes` is how many live processes use them. Blocks."""
    for use in list_engines(settings, environment):
        try:
            yield from _check_engine(use, max(processes, 1))
        except Exception as error:  # noqa: BLE001 - a check never raises
            yield unreachable(use.engine, use.url, error, " and ".join(use.settings))


def _check_engine(use: EngineUse, processes: int) -> Iterator[DoctorFinding]:
    name = name_server(use.url)
    match use.engine:
        case "postgresql":
            yield from judge_postgresql(postgresql_checks.read_facts(use.url), name, use.connections, processes)
        case "redis":
            yield from judge_redis(redis_checks.read_facts(use.url), name)
        case _:
            yield from judge_rabbitmq(rabbitmq_checks.read_facts(use.url), name)


def list_engines(settings: Settings, environment: Mapping[str, str]) -> list[EngineUse]:
    """Return the servers of the settings, each once; what has no server, or a URL that cannot be read, has none."""
    found: dict[str, EngineUse] = {}

    def add(name: str, url: str | None, connections: int) -> None:
        scheme = (url or "").partition("://")[0].partition("+")[0]
        engine = _ENGINES.get(scheme)
        if url is None or engine is None:
            return
        use = found.setdefault(url, EngineUse(engine, url, (), 0))
        use.settings += (name,)
        use.connections += connections

    store, queue, fanout = settings.store.url, settings.section(QueueSettings), settings.section(HubSettings).fanout_url
    add("Store.Url", store.resolve(environment), STORE_CONNECTIONS)
    if queue.backend != "Memory":
        own = queue.url or (store if queue.backend == "Postgres" else None)
        add("Queue.Url", own.resolve(environment) if own is not None else None, QUEUE_CONNECTIONS)
        hints = fanout or (queue.url if queue.backend == "Redis" else None) or store
        add("Hub.FanoutUrl", hints.resolve(environment), FANOUT_CONNECTIONS)
    return list(found.values())
