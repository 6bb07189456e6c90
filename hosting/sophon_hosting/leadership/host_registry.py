"""Registry of live hosts: each process of a group holds a lease on its own name, with what it states of itself."""

import logging
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from typing import Any, Literal, TypeAlias, cast

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.failure_log import log_failure
from sophon.stores.leases.lease import HOST_PREFIX, Lease
from sophon.stores.leases.sql import LeaseStore
from sophon_hosting.leadership.settings_fingerprint import list_differences

log = logging.getLogger("sophon")

ProcessRole: TypeAlias = Literal["serve", "hub", "worker"]
"""What a process does: `serve` is hub and worker, `hub` runs no turns, `worker` answers nobody."""

LEASE_SECONDS = 30.0
"""Duration of a host's lease, renewed three times as often: how long a killed host is listed at most."""


@dataclass(frozen=True, slots=True)
class HostDescription:
    """A live host process: what it is, and what it does now. `settings` is the fingerprint of its settings.

    `address` is where it listens, "" for a worker; `queue` the kind and name of its queue; `duties` what it leads;
    `schema` the version of the store's schema that it uses, as its lease says.
    """

    id: str
    role: ProcessRole
    version: str
    queue: str
    started_at: str
    machine: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    address: str = ""
    turns: int = 0
    duties: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=new_dict)
    schema: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in _FIELDS} | {
            "duties": list(self.duties),
            "settings": dict(self.settings),
        }


_FIELDS = ("id", "role", "version", "queue", "started_at", "machine", "pid", "address", "turns")


def host_from_lease(lease: Lease) -> HostDescription:
    """Return the host that holds a lease. What a process of another version does not state has its default."""
    details = lease.details
    return HostDescription(
        id=lease.holder,
        role=cast("ProcessRole", details.get("role", "serve")),
        version=str(details.get("version", "")),
        queue=str(details.get("queue", "")),
        started_at=str(details.get("started_at", "")),
        machine=str(details.get("machine", "")),
        pid=int(details.get("pid", 0)),
        address=str(details.get("address", "")),
        turns=int(details.get("turns", 0)),
        duties=tuple(cast("list[str]", details.get("duties", ()))),
        settings=details.get("settings", {}),
        schema=lease.schema,
    )


class HostRegistry:
    """Registers this process among the live hosts of its store, and finds the others.

    Without `leases` there are no others, and nothing is written: a process that has its store alone. `describe` returns
    what this process states of itself.
    """

    def __init__(self, leases: LeaseStore | None, clock: Clock, describe: Callable[[], HostDescription]) -> None:
        self._leases, self._clock, self._describe = leases, clock, describe
        self._warned: set[tuple[str, ...]] = set()
        self.last_count = 1
        """Number of live hosts when this one registered last."""

    async def run_forever(self) -> None:
        """Register, and renew that three times per lease, until cancelled."""
        if self._leases is None:
            return
        while True:
            try:
                await self.register()
            except StoreError as error:
                log_failure(log, error, "this process could not be registered; the next attempt follows")
            await self._clock.sleep(LEASE_SECONDS / 3)

    async def register(self) -> None:
        """Register this process, and warn of hosts with other settings, once each. Raises StoreError."""
        own = self._describe()
        if self._leases is None:
            return
        name = f"{HOST_PREFIX}{own.id}"
        await self._leases.acquire(name, own.id, LEASE_SECONDS, own.to_json())
        hosts = await self.list_hosts()
        self.last_count = len(hosts)
        for other in hosts:
            self._compare(own, other)

    async def close(self) -> None:
        """Leave the list of live hosts."""
        if self._leases is not None:
            own = self._describe()
            with suppress(StoreError):
                await self._leases.release(f"{HOST_PREFIX}{own.id}", own.id)

    async def list_hosts(self) -> list[HostDescription]:
        """Return the live hosts, this one included, oldest first. Raises StoreError."""
        if self._leases is None:
            return [self._describe()]
        return await list_live_hosts(self._leases)

    def _compare(self, own: HostDescription, other: HostDescription) -> None:
        if other.id == own.id:
            return
        different = list_differences(own.settings, other.settings)
        if other.version != own.version:
            different.insert(0, "the version of Sophon")
        told = (other.id, *different)
        if different and told not in self._warned:
            self._warned.add(told)
            log.warning(
                "the process %d on %s has other settings than this one; what differs: %s",
                other.pid,
                other.machine,
                ", ".join(different),
            )


async def list_live_hosts(leases: LeaseStore) -> list[HostDescription]:
    """Return the live hosts of a store, oldest first; those that have their store alone do not register."""
    found = [host_from_lease(lease) for lease in await leases.list(HOST_PREFIX)]
    return sorted(found, key=lambda each: (each.started_at, each.id))


def format_time(moment: datetime) -> str:
    """Return a time as it is stated by a host."""
    return moment.isoformat(timespec="milliseconds")
