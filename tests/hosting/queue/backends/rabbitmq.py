"""The queue on RabbitMQ, on the server that all tests share; its own server is that one behind a proxy of its own."""

import asyncio
import threading
from collections.abc import Coroutine, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import urlsplit

from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.rabbitmq.queue import RabbitMqQueue
from tests.hosting.queue.backends.backend import Options, OwnServer, ServerBackend
from tests.loopback_proxy import LoopbackProxy
from tests.rabbitmq_queues import delete_queues
from tests.rabbitmq_server import find_shared_server


class RabbitMqBackend(ServerBackend):
    name = "rabbitmq"
    many = 100

    @classmethod
    def find_url(cls) -> str | None:
        return find_shared_server()

    @classmethod
    def run_own_server(cls) -> AbstractContextManager[OwnServer]:
        return _run_proxied_server()

    def build(self, name: str, options: Options) -> TaskQueue:
        return RabbitMqQueue(
            options.url or _shared_url(),
            name,
            capacity=options.capacity,
            max_deliveries=options.max_deliveries,
            owner_share=options.owner_share,
            lease_seconds=options.lease_seconds,
        )

    async def remove(self, name: str) -> None:
        await delete_queues(_shared_url(), name)

    async def step(self, queue: TaskQueue) -> None:
        """Make a round trip to the broker: the process that schedules answers `statistics` without one."""
        await queue.hold_lane("a session of nobody", "a task of nobody")
        await queue.release_lane("a session of nobody", "a task of nobody")


class ProxiedServer:
    """The shared server as seen through a proxy; a start of a node takes 10 s (see tests/soak/chaos)."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._proxy = LoopbackProxy(self._parts.port or 5672)

    @property
    def url(self) -> str:
        address = f"{self._parts.username}:{self._parts.password}@127.0.0.1:{self._proxy.port}"
        return self._parts._replace(netloc=address).geturl()

    def start(self) -> None:
        self._proxy.start()

    def stop(self) -> None:
        self._proxy.stop()

    def close(self) -> None:
        self._proxy.close()


def _shared_url() -> str:
    url = find_shared_server()
    assert url is not None, "RabbitMQ does not answer"
    return url


@contextmanager
def _run_proxied_server() -> Generator[OwnServer]:
    server = ProxiedServer(_shared_url())
    run_beside(delete_queues(_shared_url(), "own"))  # what a test that was killed has left
    server.start()
    try:
        yield server
    finally:
        server.close()
        run_beside(delete_queues(_shared_url(), "own"))


def run_beside(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end in a thread; the loop of the test waits."""
    thread = threading.Thread(target=asyncio.run, args=(work,))
    thread.start()
    thread.join()
