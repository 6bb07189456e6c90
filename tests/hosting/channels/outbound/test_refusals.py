"""A file that the platform refuses after the turn: the chat is told the reason, once, and never in a circle."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sophon_channels.contract import DeliveryReceipt, SendUndeliverable
from sophon_channels.testing import DEFAULT_LOCATION, SyntheticChannel
from tests.hosting.channels.outbound.test_send_file_tool import Sender

REASON = "WhatsApp does not accept the file:\n\u202eits type"
TOLD = "⚠️ The file 'march.txt' was not delivered: WhatsApp does not accept the file: its type"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "principals" / "synthetic_3a1" / "march.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"figures")
    return path


async def test_a_file_that_is_refused_is_told_in_the_chat_and_a_dead_letter(start, report: Path) -> None:
    channel = SyntheticChannel()
    channel.send_results.append(SendUndeliverable(REASON))
    running = await start(channel=channel, brain=Sender())
    await channel.deliver_message("send march.txt")
    assert await channel.wait_for_text("was not delivered") == TOLD
    [dead] = await running.store.outbox.list(status="dead")
    assert (dead.kind, dead.payload["file_name"]) == ("file", "march.txt")


async def test_a_chat_that_is_gone_is_told_nothing(start, report: Path) -> None:
    channel = SyntheticChannel()
    channel.send_results.append(SendUndeliverable("blocked", is_chat_gone=True))
    running = await start(channel=channel, brain=Sender())
    await channel.deliver_message("send march.txt")
    await wait_for_dead(running, 2)  # the file, and the answer with it
    assert [entry.id for entry in await running.store.outbox.list() if entry.id.endswith(":refused:0")] == []


async def wait_for_dead(running: Any, count: int) -> None:
    async with asyncio.timeout(30):
        while len(await running.store.outbox.list(status="dead")) < count:
            await asyncio.sleep(0)


async def sent_file(running: Any) -> str:
    """The platform's id of the file, once it is stored."""
    await running.channel.deliver_message("send march.txt")
    await running.channel.wait_for_text("Done")
    async with asyncio.timeout(30):
        while True:
            for entry in await running.store.outbox.list():
                if entry.kind == "file" and entry.platform_id:
                    return str(entry.platform_id)
            await asyncio.sleep(0)


def failed(message_id: str, **fields: Any) -> DeliveryReceipt:
    return DeliveryReceipt(
        f"{message_id}:failed", message_id, "failed", 131053, REASON, DEFAULT_LOCATION.chat, **fields
    )


async def test_a_file_that_fails_after_it_was_sent_is_told_once(start, report: Path) -> None:
    running = await start(brain=Sender())
    message_id = await sent_file(running)
    await running.channel.deliver(failed(message_id), failed(message_id))
    assert await running.channel.wait_for_text("was not delivered") == TOLD
    assert sum(entry.id.endswith(":refused:0") for entry in await running.store.outbox.list()) == 1


@pytest.mark.parametrize("case", ["unknown", "unreachable"])
async def test_a_failure_that_cannot_be_told_is_only_logged(start, report: Path, case: str) -> None:
    running = await start(brain=Sender())
    message_id = await sent_file(running)
    receipt = failed("gone") if case == "unknown" else failed(message_id, is_chat_unreachable=True)
    await running.channel.deliver(receipt)
    assert not any(entry.id.endswith(":refused:0") for entry in await running.store.outbox.list())
    assert running.channel.health.counts["failed"] == 1


async def test_a_notice_that_fails_leads_to_no_other(start, report: Path) -> None:
    running = await start(brain=Sender())
    message_id = await sent_file(running)
    await running.channel.deliver(failed(message_id))
    await running.channel.wait_for_text("was not delivered")
    count = len(await running.store.outbox.list())
    async with asyncio.timeout(30):
        while not (notice := (await running.store.outbox.list())[-1]).platform_id:
            await asyncio.sleep(0)
    await running.channel.deliver(failed(str(notice.platform_id)))
    assert len(await running.store.outbox.list()) == count
