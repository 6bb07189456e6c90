"""The engines of a chaos run, on ports of their own behind a proxy: a store, and a queue that may be restarted."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import redis.asyncio
from sqlalchemy.engine import make_url

from tests import rabbitmq_server, redis_server
from tests.postgres_cluster import Cluster, find_programs
from tests.soak.chaos.severable_proxy import SeverableProxy


class Engine(Protocol):
    """A server that a run starts, restarts and stops."""

    @property
    def url(self) -> str: ...

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Engines:
    """PostgreSQL as the store, and the server of a queue backend; for `Postgres` the store's server is both.

    `store_url` and `queue_url` lead through the proxies. For an `async with` block.
    """

    def __init__(self, backend: str, folder: Path) -> None:
        self.backend, self._folder = backend, folder
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        programs = find_programs()
        assert programs is not None, "a chaos run needs the programs of PostgreSQL"
        self.store = Cluster(programs, self._make_folder("postgres"))
        self.store_proxy, self.store_url = await self._start(self.store)
        self.queue: Engine = self.store
        self.queue_proxy, self.queue_url = self.store_proxy, self.store_url
        if self.backend != "Postgres":
            self.queue = _QUEUE_ENGINES[self.backend](self._make_folder("queue"))
            self.queue_proxy, self.queue_url = await self._start(self.queue)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def restart(self, engine: Engine, down_seconds: float) -> None:
        """Stop a server as a crash does, and start it again after a while."""
        await asyncio.to_thread(engine.stop)
        await asyncio.sleep(down_seconds)
        await asyncio.to_thread(engine.start)

    async def flush_queue(self) -> None:
        """Let the server of the queue forget everything, as a Redis without persistence does that is restarted."""
        client = redis.asyncio.from_url(self.queue.url)
        await client.flushall()
        await client.aclose()

    async def cut(self, proxy: SeverableProxy, seconds: float) -> None:
        """Let no byte pass for a while; the connections are broken afterwards."""
        proxy.sever()
        await asyncio.sleep(seconds)
        await proxy.restore()

    async def _start(self, engine: Engine) -> tuple[SeverableProxy, str]:
        await asyncio.to_thread(engine.start)
        remove = engine.remove if isinstance(engine, rabbitmq_server.RabbitMqServer) else engine.stop
        self._stack.push_async_callback(asyncio.to_thread, remove)
        url = make_url(engine.url)
        assert url.port is not None
        proxy = SeverableProxy(url.port)
        await proxy.start()
        self._stack.push_async_callback(proxy.stop)
        return proxy, url.set(port=proxy.port).render_as_string(hide_password=False)

    def _make_folder(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)  # PostgreSQL runs as a user of its own
        return folder


def _make_redis(folder: Path) -> Engine:
    program = redis_server.find_program()
    assert program is not None, "this run needs redis-server"
    return redis_server.RedisServer(program, folder, is_persistent=True)


def _make_rabbitmq(_: Path) -> Engine:
    program = rabbitmq_server.find_program()
    assert program is not None, "this run needs rabbitmq-server"
    return rabbitmq_server.RabbitMqServer(program)


_QUEUE_ENGINES: dict[str, Callable[[Path], Engine]] = {"Redis": _make_redis, "RabbitMq": _make_rabbitmq}
