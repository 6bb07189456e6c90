"""A sender for a test to kill: stores answers for some chats once, and delivers them to a Bot API server.

Arguments: the folder, the server's address, the number of chats, the answers of each. Ends when nothing is left.
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from sophon.clock import SystemClock
from sophon.settings import Secret, TelegramSettings
from sophon.stores.factory import store_from_url
from sophon.stores.outbox.contract import OutboundEntry
from sophon_channels.telegram.channel import TelegramChannel
from sophon_hosting.channels.outbound import delivery_rules
from sophon_hosting.channels.outbound.outbox_worker import OutboxWorker

TOKEN = "123456:TEST-token_abcdefghijklmnopqrstuvwx"
FOLDER, BASE, CHATS, ANSWERS = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
# Minutes in real life.
delivery_rules.AMBIGUOUS_DELAYS = (timedelta(seconds=0.05),) * 3


class Nobody:
    async def receive(self, events: Any) -> None:
        return


async def moved(old: str, new: str) -> None:
    return


async def ready(entry: OutboundEntry) -> None:
    return


async def main() -> None:
    clock = SystemClock()
    store = store_from_url("sqlite:///sender.db", folder=FOLDER)
    await store.open()
    settings = TelegramSettings(enabled=True, token=Secret("BOT", "$env"), api_base=BASE)  # type: ignore[arg-type] # pydantic reads it
    channel = TelegramChannel(settings, {"BOT": TOKEN}, clock)
    for number in range(ANSWERS):
        await store.outbox.add(
            [
                OutboundEntry(
                    f"{chat}-{number}",
                    None,
                    "telegram",
                    channel.account,
                    str(chat),
                    "answer",
                    {"plain": f"{chat}/{number}"},
                )
                for chat in range(1, CHATS + 1)
            ]
        )
    worker = OutboxWorker(channel, store.outbox, clock, migrate_chat=moved, refresh_payload=ready)
    worker.hold()
    work = asyncio.create_task(worker.run())
    await channel.start(Nobody())
    worker.resume()
    while len(await store.outbox.list(status="sent", limit=10_000)) < CHATS * ANSWERS:
        if await store.outbox.count_dead():
            break
        await asyncio.sleep(0.05)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await channel.stop()
    await store.close()


asyncio.run(main())
