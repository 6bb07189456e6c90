"""A host for a test to kill that fires schedules every second. Arguments: the folder, how many runs there must be.

Prints a line for each event, and ends when there are so many runs and each has its outcome.
"""

import asyncio
import sys
from pathlib import Path

from sophon import ModelRequest, Services
from sophon.events import Event
from sophon.testing import FunctionModel
from sophon_hosting.features.schedules.requests import ScheduleRequest
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.schedule_service import Destination, ScheduleService
from sophon_hosting.features.schedules.scheduler import Scheduler
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.host import Host
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve

TARGET = int(sys.argv[2])
SETTINGS = {
    "Guards": {"RateLimit": {"Enabled": False}},
    "Schedules": {"MinInterval": "00:00:01", "Misfire": "All", "MaxCatchUp": 100},
}


class Teller:
    """Prints the names of events."""

    def emit(self, event: Event) -> None:
        print("event", type(event).__name__, flush=True)


async def answer(request: ModelRequest) -> str:
    await asyncio.sleep(0.05)
    return "done"


async def allow(schedule: Schedule) -> str:
    return ""


async def main() -> None:
    store = host_store_from_url("sqlite:///host.db", folder=Path(sys.argv[1]))
    services = Services(models=FunctionModel(answer), store=store, events=Teller(), settings=SETTINGS)
    service = ScheduleService(store, services.clock, services.settings.section(SchedulesSettings))
    async with Host(services, twelve(services)) as host:
        if not await stored_schedules(store).list():
            for name in ("s0", "s1", "s2"):
                await store.sessions.get_or_create(name, "ada")
                where = Destination(name, "hub", {})
                await service.add(ScheduleRequest(f"task of {name}", every="1 second"), owner="ada", destination=where)
        scheduler = Scheduler(host, allow)
        scheduler.start()
        while len(await store.runs.list(limit=1000, whole=False)) < TARGET:
            await asyncio.sleep(0.05)
        await scheduler.stop()
        while await store.runs.list_unfinished():
            await asyncio.sleep(0.02)


asyncio.run(main())
