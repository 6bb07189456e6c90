import asyncio
import sys

from sophon_hosting.features.schedules.operations import add_schedule, list_schedules
from sophon_hosting.operations.client import AsyncClient, HostError


async def main(url: str, token: str, text: str) -> None:
    async with AsyncClient(url, token) as host:
        try:
            await host.call(add_schedule, text=text, cron="0 8 * * *")
        except HostError as error:
            sys.exit(f"{error.code}: {error}")
        for schedule in (await host.call(list_schedules))["items"]:
            first = next(iter(schedule["next"]), schedule["state"])  # one that is paused has no next time
            print(first, schedule["text"])


asyncio.run(main(*sys.argv[1:]))
