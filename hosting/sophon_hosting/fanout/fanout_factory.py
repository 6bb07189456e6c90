"""Factory of the fan-out from the settings: none for one process, Redis where there is one, PostgreSQL otherwise."""

import os
from collections.abc import Mapping
from importlib import import_module

from sophon.errors import SettingsError
from sophon.extras import install_command
from sophon.settings import Settings
from sophon_hosting.fanout.connected_fanout import ConnectedFanout
from sophon_hosting.fanout.contract import HostFanout, NoFanout
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.settings.queue import QueueSettings

REDIS_SCHEMES = ("redis", "rediss", "unix")
POSTGRES_SCHEMES = ("postgres", "postgresql", "postgresql+psycopg", "postgresql+asyncpg")


def build_fanout(settings: Settings, environment: Mapping[str, str] | None = None) -> HostFanout:
    """Build the fan-out of the settings.

    A queue in memory has none. Otherwise it is the Redis or PostgreSQL of `Hub.FanoutUrl`, else the Redis of the queue,
    else the store's PostgreSQL; with an SQLite store there is one host only, and none. Raises SettingsError for a URL
    that cannot be used, or without the client library.
    """
    variables = os.environ if environment is None else environment
    queue = settings.section(QueueSettings)
    if queue.backend == "Memory":
        return NoFanout()
    chosen = settings.section(HubSettings).fanout_url or (queue.url if queue.backend == "Redis" else None)
    url = (chosen or settings.store.url).resolve(variables)
    if chosen is not None and url is None:
        raise SettingsError([f"Hub.FanoutUrl or Queue.Url: {chosen.source_description} has no URL"])
    scheme, _, rest = (url or "").partition("://")
    if scheme in REDIS_SCHEMES:
        return _connect("redis_pubsub", "RedisTransport", "redis", f"{scheme}://{rest}", queue.name)
    if scheme in POSTGRES_SCHEMES:
        return _connect("postgres_notify", "PostgresTransport", "postgres", f"postgresql://{rest}", queue.name)
    if settings.section(HubSettings).fanout_url is not None:
        raise SettingsError(["Hub.FanoutUrl: it needs the URL of a Redis or a PostgreSQL"])
    return NoFanout()


def _connect(module: str, transport: str, extra: str, url: str, prefix: str) -> HostFanout:
    try:
        found = import_module(f"sophon_hosting.fanout.{module}")  # lazy: with its client library
    except ModuleNotFoundError as error:
        missing = f"Hub.FanoutUrl: it needs {error.name}, which is not installed"
        raise SettingsError([f"{missing}; {install_command(extra)}"]) from error
    return ConnectedFanout(getattr(found, transport)(url, prefix))
