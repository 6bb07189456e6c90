"""A sender for a test to kill: stores answers for some chats once, and delivers them to a server.

Arguments: the folder, the platform, the server's address, the number of chats, the answers of each.
Ends when nothing is left.
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from sophon.clock import SystemClock
from sophon.settings import Secret
from sophon_channels.contract import Channel
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.telegram.channel import TelegramChannel
from sophon_channels.telegram.settings import TelegramSettings
from sophon_channels.whatsapp.channel import WhatsAppChannel
from sophon_channels.whatsapp.settings import WhatsAppSettings
from sophon_hosting.channels.outbound import retry_rules
from sophon_hosting.channels.outbound.outbox_worker import OutboxWorker
from sophon_hosting.store.factory import host_store_from_url

TOKEN = "123456:TEST-token_abcdefghijklmnopqrstuvwx"
FOLDER, PLATFORM, BASE = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
CHATS, ANSWERS = int(sys.argv[4]), int(sys.argv[5])
# Minutes in real life.
retry_rules.AMBIGUOUS_DELAYS = (timedelta(seconds=0.05),) * 3


class Nobody:
    async def receive(self, events: Any) -> None:
        return


async def moved(old: str, new: str) -> None:
    return


async def ready(entry: OutboundEntry) -> None:
    return


def create_channel(clock: SystemClock) -> Channel:
    secret = Secret("BOT", "$env")
    if PLATFORM == "telegram":
        settings = TelegramSettings(enabled=True, token=secret, api_base=BASE)  # type: ignore[arg-type] # a text
        return TelegramChannel(settings, {"BOT": TOKEN}, clock)
    number = WhatsAppSettings(
        enabled=True,
        phone_number_id="1",
        access_token=secret,
        app_secret=secret,
        verify_token=secret,
        api_base=BASE,  # type: ignore[arg-type] # a text
    )
    return WhatsAppChannel(number, {"BOT": TOKEN}, clock)


async def main() -> None:
    clock = SystemClock()
    store = host_store_from_url("sqlite:///sender.db", folder=FOLDER)
    await store.open()
    channel = create_channel(clock)
    for number in range(ANSWERS):
        await store.outbox.add(
            [
                OutboundEntry(
                    f"{chat}-{number}",
                    None,
                    channel.name,
                    channel.account,
                    str(chat),
                    "answer",
                    {"plain": f"{chat}/{number}", "text": f"{chat}/{number}"},
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
