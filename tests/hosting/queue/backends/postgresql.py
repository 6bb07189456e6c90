"""The queue in PostgreSQL."""

import os
from contextlib import AbstractContextManager
from typing import ClassVar

from psycopg import AsyncConnection

from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.postgresql.queue import PostgresQueue
from sophon_hosting.queue.postgresql.schema import drop_schema
from tests.hosting.queue.backends.backend import Options, OwnServer, ServerBackend
from tests.postgres_cluster import find_programs, running_cluster


class PostgresBackend(ServerBackend):
    name: ClassVar[str] = "postgres"

    @classmethod
    def find_url(cls) -> str | None:
        return os.environ.get("SOPHON_TEST_POSTGRES") if find_programs() else None

    @classmethod
    def run_own_server(cls) -> AbstractContextManager[OwnServer]:
        programs = find_programs()
        assert programs is not None
        return running_cluster(programs)

    def build(self, name: str, options: Options) -> TaskQueue:
        return PostgresQueue(
            # A server that a test stops has every commit flushed: by default a crash may undo the last ones.
            f"{options.url}?options=-csynchronous_commit%3Don" if options.url else os.environ["SOPHON_TEST_POSTGRES"],
            name,
            capacity=options.capacity,
            max_deliveries=options.max_deliveries,
            owner_share=options.owner_share,
            lease_seconds=options.lease_seconds,
        )

    async def remove(self, name: str) -> None:
        async with await AsyncConnection.connect(os.environ["SOPHON_TEST_POSTGRES"], autocommit=True) as connection:
            await drop_schema(connection, name)
