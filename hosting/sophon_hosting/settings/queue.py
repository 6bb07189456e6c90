"""Settings of the task queue."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

from sophon.settings.root import RootSection
from sophon.settings.types.field_types import Duration, FiniteNumber, WholeNumber, prefer_spelling
from sophon.settings.types.secret_references import SecretUrl
from sophon.settings.types.section import Field

QUEUE_BACKENDS = ("Memory", "Redis", "RabbitMq", "Postgres")
"""The queues that are part of Sophon."""

MIN_LEASE = timedelta(seconds=1)
"""Shorter ones would end while a worker is only slow."""


class QueueSettings(RootSection, key="Queue", description="Task queue."):
    """Task queue."""

    backend: Annotated[str, prefer_spelling(*QUEUE_BACKENDS)] = Field(
        default="Memory",
        description="Where tasks wait: `Memory` (one process), `Redis`, `RabbitMq`, `Postgres`, or the name of an "
        "installed entry point `sophon.queues`.",
    )
    capacity: WholeNumber = Field(
        default=100,
        ge=1,
        description="Maximum number of waiting tasks; beyond it a message is rejected with `queue_full`.",
    )
    owner_share: FiniteNumber = Field(
        default=0.75,
        gt=0,
        le=1,
        description="Part of Capacity that one user may fill while nobody else waits; with others waiting, less. With "
        "one user and no channel, all of it.",
    )
    url: SecretUrl | None = Field(
        default=None,
        description="URL of the queue's server: `redis://`, `rediss://`, `unix://`, `amqp://`, `amqps://` or "
        "`postgresql://`; for Postgres `Store.Url` by default.",
    )
    name: str = Field(
        default="sophon",
        pattern=r"^[a-z][a-z0-9_]{0,31}$",
        description="First part of the names of all keys, queues, exchanges and tables on that server; hosts with the "
        "same name and server share the queue. Lower-case letters, digits and `_`.",
    )
    lease: Duration = Field(
        default=timedelta(seconds=30),
        description="Time after which a task of a worker that no longer answers is given to another one; a worker "
        "renews it three times as often.",
    )
    max_deliveries: WholeNumber = Field(
        default=5, ge=1, description="Starts of a task without an outcome, after which it is given up."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for a backend without its URL, and for a URL of none."""
        if self.backend in ("Redis", "RabbitMq") and self.url is None:
            yield "Url", f"the backend {self.backend} needs the URL of its server"
        if self.backend == "Memory" and self.url is not None:
            yield "Url", "a queue in memory has no URL; remove it, or set Backend"
        if self.lease < MIN_LEASE:
            yield "Lease", f"a lease must be at least {MIN_LEASE.total_seconds():.0f} s"
