"""A host that learns that another process has got hold of its store ends at once."""

import pytest

from sophon import Services
from sophon.errors import StoreError
from sophon.testing import VirtualClock
from sophon_hosting.host import Host
from sophon_hosting.programs.shutdown_signals import run_until_stopped
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_hosting.store_lease import StoreLease
from sophon_middlewares.chains import twelve


class Lost(StoreLease):
    """Somebody else has it when it is looked at for the second time."""

    looks = 0

    def renew(self) -> None:
        self.looks += 1
        if self.looks == 2:
            raise StoreError("memory://", "process 7 on elsewhere is already using this store")


def test_a_host_whose_store_another_has_taken_gives_nothing_time_to_end() -> None:
    services = Services(clock=VirtualClock(), store=SqlHostStore("memory://", clock=VirtualClock()))
    host = Host(services, twelve(services))
    grace: list[float] = []

    async def opened() -> None:
        await services.open()
        await host.start()

    async def close(grace_seconds: float) -> None:
        grace.append(grace_seconds)
        await host.shutdown(grace_seconds=grace_seconds)
        await services.close()

    with Lost("memory://") as lock, pytest.raises(StoreError, match="process 7 on elsewhere"):
        run_until_stopped(opened, close, host, lock)
    assert (lock.looks, grace) == (2, [0.0])
