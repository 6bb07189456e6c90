"""Membership of a host process in the group of processes that share a queue and a store, which may be itself alone."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol
from urllib.parse import urlsplit

from sophon import __version__
from sophon.errors import SettingsError, StoreError
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.leadership.contract import Leadership, SoleLeadership
from sophon_hosting.leadership.election import LeaderElection
from sophon_hosting.leadership.host_registry import HostDescription, HostRegistry, ProcessRole, format_time
from sophon_hosting.leadership.settings_fingerprint import compute_fingerprint
from sophon_hosting.settings.queue import QueueSettings
from sophon_hosting.store.contract import HostStore, host_store


class SharedQueue(Protocol):
    """What is asked of a queue: whether other processes take from it."""

    @property
    def is_shared(self) -> bool: ...


class GroupMembership:
    """Id, role and leadership of a host process, and the other live processes of its group.

    `is_shared`: other processes take from the same queue, so what must exist once is decided by leases of the store.
    Otherwise the process is alone: it leads everything, and nothing is written.
    """

    def __init__(self, services: Services, *, role: ProcessRole = "serve", is_shared: bool = False) -> None:
        self.role: ProcessRole = role
        self._services, self.is_shared = services, is_shared
        self.id = services.clock.new_id() if is_shared else ""
        leases, clock = host_store(services).leases, services.clock
        self.leadership: Leadership = LeaderElection(leases, clock, self.id) if is_shared else SoleLeadership()
        self._registry = HostRegistry(leases if is_shared else None, clock, self.describe)
        self.list_hosts = self._registry.list_hosts
        self._address = ""
        self._count_turns: Callable[[], int] = lambda: 0
        self._started_at = ""
        self._fingerprint: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def last_count(self) -> int:
        """Number of live processes of the group, as far as it is known."""
        return self._registry.last_count

    @property
    def runs_turns(self) -> bool:
        """Whether this process takes tasks from the queue."""
        return self.role != "hub"

    def describe(self) -> HostDescription:
        """Return what this process states of itself."""
        queue = self._services.settings.section(QueueSettings)
        return HostDescription(
            id=self.id,
            role=self.role,
            version=__version__,
            queue=describe_queue(queue, os.environ) if self.is_shared else queue.backend,
            started_at=self._started_at,
            address=self._address,
            turns=self._count_turns(),
            duties=tuple(self.leadership.list_duties()),
            settings=self._fingerprint,
        )

    async def check_group(self) -> None:
        """Raise StoreError if a live process on the same store takes its tasks from another queue.

        Each of the two would take what the other one runs for lost, and start it again.
        """
        own = self.describe()
        for other in await self._registry.list_hosts():
            if other.id != own.id and other.queue != own.queue:
                raise StoreError(
                    str(self._services.settings.store.url),
                    f"the process {other.pid} on {other.machine} uses this store with the queue {other.queue}, and "
                    f"this one has {own.queue}; all must have the same Queue.Backend, Queue.Url and Queue.Name",
                )

    def start(self, count_turns: Callable[[], int] = lambda: 0) -> None:
        """Register among the live processes of the group, in the background, with how many turns this one runs."""
        self._count_turns = count_turns
        self._started_at = format_time(self._services.clock.now())
        if self.is_shared and self._task is None:
            self._fingerprint = compute_fingerprint(self._services.settings)
            self._task = asyncio.create_task(self._registry.run_forever())

    def note_address(self, url: str) -> None:
        """State where this process listens; a worker does not."""
        self._address = url

    def note_settings(self, settings: Settings) -> None:
        """State the settings that this process uses from now on."""
        self._fingerprint = compute_fingerprint(settings)

    async def stop(self) -> None:
        """Leave the group."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await self._registry.close()


def describe_queue(queue: QueueSettings, environment: Mapping[str, str]) -> str:
    """Return kind, name and database of a shared queue, which all processes of a store must have alike.

    The host of its URL is left out: machines may reach one server by different names.
    """
    url = (queue.url.resolve(environment) if queue.url is not None else None) or ""
    database = urlsplit(url).path.strip("/")
    if queue.backend == "Redis":
        database = database or "0"
    return f"{queue.backend} {queue.name}{f', database {database}' if database else ''}"


def is_group(store: HostStore, queue: SharedQueue) -> bool:
    """Return whether there may be other processes: with a shared queue, and a store that several can use."""
    return queue.is_shared and not is_of_one_process(store)


def is_of_one_process(store: HostStore) -> bool:
    """Return whether no other process can use a store: it is in memory or in a file."""
    return store.in_memory or getattr(store, "file", None) is not None


def check_role(settings: Settings, store: HostStore, queue: SharedQueue, *, runs_turns: bool) -> None:
    """Raise SettingsError for a process whose tasks nobody runs, or another one takes that has not got them.

    What processes with stores of their own take from one queue are tasks that they do not know, and they end them.
    """
    problems: list[str] = []
    backend = settings.section(QueueSettings).backend
    if not runs_turns and not queue.is_shared:
        problems.append(
            f"Queue.Backend: a host without a worker needs a queue that other processes share, and that of "
            f"{backend} is its own; set Redis, RabbitMq or Postgres, or leave out --no-worker"
        )
    if is_of_one_process(store) and (queue.is_shared or not runs_turns):
        needed_by = f"the shared queue of {backend}" if queue.is_shared else "a host without a worker"
        problems.append(
            f"Store.Url: {needed_by} needs a store that other processes can use, and {settings.store.url} is of one "
            "process alone; set the URL of a PostgreSQL" + (", or leave out Queue.Backend" if queue.is_shared else "")
        )
    if problems:
        raise SettingsError(problems)
