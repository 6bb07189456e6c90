"""The queue on Redis Streams."""

from contextlib import AbstractContextManager
from typing import ClassVar

from redis.asyncio import Redis

from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.redis_streams.queue import RedisStreamsQueue
from tests.hosting.queue.backends.backend import Options, OwnServer, ServerBackend
from tests.redis_server import find_program, find_shared_server, running_redis


class RedisBackend(ServerBackend):
    name = "redis"
    queue_class: ClassVar[type[RedisStreamsQueue]] = RedisStreamsQueue

    @classmethod
    def find_url(cls) -> str | None:
        return find_shared_server()

    @classmethod
    def run_own_server(cls) -> AbstractContextManager[OwnServer]:
        program = find_program()
        assert program is not None, "there is a Redis here, but no redis-server or valkey-server to start another one"
        return running_redis(program)

    def build(self, name: str, options: Options) -> TaskQueue:
        return self.queue_class(
            options.url or self.find_url() or "redis://127.0.0.1:6379/0",
            name,
            capacity=options.capacity,
            max_deliveries=options.max_deliveries,
            owner_share=options.owner_share,
            lease_seconds=options.lease_seconds,
        )

    async def remove(self, name: str) -> None:
        async with Redis.from_url(self.find_url() or "redis://127.0.0.1:6379/0") as client:
            async for key in client.scan_iter(match=f"{{{name}}}:*", count=1000):
                await client.delete(key)
