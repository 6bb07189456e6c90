"""Several hosts, each with its own connections to one database, fire a schedule once; a killed one leaves one run."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon import ModelRequest, Services
from sophon.stores.contract import Store
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.features.schedules.requests import ScheduleRequest
from sophon_hosting.features.schedules.schedule_service import Destination, ScheduleService
from sophon_hosting.features.schedules.scheduler import Scheduler
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.host import Host
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve
from tests.hosting.features.schedules.conftest import T0, allow
from tests.soak.test_schedule_kills import kill_while_firing
from tests.store_urls import store_url as store_url


async def answer(request: ModelRequest) -> str:
    return "done"


@pytest.fixture
async def stores(store_url: str, tmp_path: Path) -> AsyncIterator[list[Store]]:
    clock = VirtualClock(auto=False, start=T0)
    opened = [host_store_from_url(store_url, folder=tmp_path, clock=clock) for _ in range(2)]
    for each in opened:
        await each.open()
    yield opened
    for each in opened:
        await each.close()


async def test_two_hosts_over_one_database_fire_each_time_once(stores: list[Store]):
    clock = VirtualClock(auto=False, start=T0)
    services = [Services(models=FunctionModel(answer), store=store, clock=clock) for store in stores]
    hosts = [Host(each, twelve(each)) for each in services]
    service = ScheduleService(stores[0], clock, services[0].settings.section(SchedulesSettings))
    await stores[0].sessions.get_or_create("s", "ada")
    for number in range(5):
        wanted = ScheduleRequest(f"task {number}", every="1 hour")
        await service.add(wanted, owner="ada", destination=Destination("s", "hub", {}))
    schedulers = [Scheduler(host, allow) for host in hosts]
    for _ in range(3):
        clock.jump(3600)
        await asyncio.gather(*(each.fire_due() for each in schedulers))
    runs = await stores[1].runs.list()
    assert len(runs) == 15
    assert len({(run.text, run.origin["due_at"]) for run in runs}) == 15
    for host in hosts:
        await host.shutdown(grace_seconds=0)


async def test_a_host_that_is_killed_between_firing_and_answer_leaves_one_outcome_for_each_time(tmp_path: Path):
    await kill_while_firing(tmp_path, seed=1, kills=3, runs=12)
