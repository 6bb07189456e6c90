"""A host with a scheduler over each store, an echoing model and virtual time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, Services
from sophon.stores.contract import Store
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_hosting.features.goals.feature import create_use_recorder
from sophon_hosting.features.registry import register_feature_tools
from sophon_hosting.features.schedules.events import ScheduleFired
from sophon_hosting.features.schedules.firing import CheckOwner
from sophon_hosting.features.schedules.requests import ScheduleRequest
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.schedule_service import Destination, ScheduleService
from sophon_hosting.features.schedules.scheduler import Scheduler
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.host import Host
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.chains import twelve

T0 = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


async def allow(schedule: Schedule) -> str:
    return ""


@dataclass
class ScheduleWorld:
    """A store, its hosts, and what the model was asked. Times are in UTC from T0."""

    store: Store
    clock: VirtualClock
    events: EventRecorder = field(default_factory=EventRecorder)
    asked: list[str] = field(default_factory=list)
    hosts: list[Host] = field(default_factory=list)

    def host(self, settings: dict[str, Any] | None = None, **options: Any) -> Host:
        services = Services(
            models=FunctionModel(self.answer), store=self.store, events=self.events, clock=self.clock, settings=settings
        )
        register_feature_tools(services)
        self.hosts.append(Host(services, twelve(services), record_use=create_use_recorder(services), **options))
        return self.hosts[-1]

    async def started(self, settings: dict[str, Any] | None = None, **options: Any) -> Host:
        host = self.host(settings, **options)
        await host.start()
        return host

    async def answer(self, request: ModelRequest) -> str:
        self.asked.append(request.messages[-1].content)
        return "done"

    async def add(self, host: Host, session_id: str = "s", owner: str = "ada", **request: Any) -> Schedule:
        service = ScheduleService(self.store, self.clock, host.services.settings.section(SchedulesSettings))
        await self.store.sessions.get_or_create(session_id, owner)
        wanted = ScheduleRequest(**{"text": "tell me the news", **request})
        return await service.add(wanted, owner=owner, destination=Destination(session_id, "hub", {}))

    async def change(self, schedule: Schedule, **changes: Any) -> Schedule:
        """Store a changed schedule, as another process would."""
        assert await stored_schedules(self.store).update(replace(schedule, **changes))
        found = await stored_schedules(self.store).find(schedule.id)
        assert found is not None
        return found

    async def get(self, schedule: Schedule) -> Schedule:
        found = await stored_schedules(self.store).find(schedule.id)
        assert found is not None
        return found

    def pass_time(self, duration: timedelta) -> None:
        self.clock.jump(duration.total_seconds())

    async def fire(self, *hosts: Host, check_owner: CheckOwner = allow) -> None:
        """Let hosts fire what is due at the same time, and wait until all runs have ended."""
        await asyncio.gather(*(Scheduler(host, check_owner).fire_due() for host in hosts))
        await self.until(self.is_done)

    async def is_done(self) -> bool:
        return all(run.is_finished for run in await self.runs())

    async def until(self, found: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(30):
            while not await found():
                await asyncio.sleep(0)

    async def runs(self) -> list[Run]:
        return (await self.store.runs.list(limit=1000))[::-1]

    async def outcomes(self, count: int) -> list[str]:
        """Return what became of the times, when so many were announced: an event is stored before that."""

        async def arrived() -> bool:
            return len(self.events.of(ScheduleFired)) >= count

        await self.until(arrived)
        return [event.outcome for event in self.events.of(ScheduleFired)]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ScheduleWorld]:
    clock = VirtualClock(auto=False, start=T0)
    store = host_store_from_url("memory://", folder=tmp_path, clock=clock)
    await store.open()
    world = ScheduleWorld(store, clock)
    yield world
    for host in world.hosts:
        await host.shutdown(grace_seconds=0)
    await store.close()
