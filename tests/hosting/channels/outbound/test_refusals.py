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
    # The file takes the answer with it if that is stored already; else the answer is refused on its own.
    channel.send_results += [SendUndeliverable("blocked", is_chat_gone=True)] * 2
    running = await start(channel=channel, brain=Sender())
    await channel.deliver_message("send march.txt")
    await wait_for_dead(running, 2)
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


async def test_a_file_that_fails_after_a_new_conversation_is_told_all_the_same(start, report: Path) -> None:
    running = await start(brain=Sender())
    message_id = await sent_file(running)
    await running.channel.deliver_message("/new")
    await running.channel.deliver(failed(message_id))
    assert await running.channel.wait_for_text("was not delivered") == TOLD


async def test_a_rejected_file_is_not_sent_again_and_last_shows_the_last_answer(start, report: Path) -> None:
    channel = SyntheticChannel()
    channel.send_results.append(SendUndeliverable(REASON))
    running = await start(channel=channel, brain=Sender())
    await channel.deliver_message("send march.txt")
    await channel.wait_for_text("was not delivered")
    await channel.wait_for_text("Done")
    for _ in range(2):
        await channel.deliver_message("/last")
    await channel.wait_until(lambda: sum("That was the last answer" in text for text in channel.sent_texts()) == 2)
    [dead] = await running.store.outbox.list(status="dead")
    assert (dead.dead_reason, dead.retried_at) == ("rejected", None)


async def wait_for_sent(running: Any) -> str:
    async with asyncio.timeout(30):
        while True:
            for entry in await running.store.outbox.list(status="sent"):
                if entry.kind == "answer":
                    return str(entry.platform_id)
            await asyncio.sleep(0)


async def test_an_answer_that_fails_after_it_was_sent_is_a_dead_letter_told_and_sent_again_whole(start) -> None:
    running = await start(channel=SyntheticChannel(reports_delivery=True))
    text = "a long text " * 100
    await running.channel.deliver_message(text)
    message_id = await wait_for_sent(running)
    chat = DEFAULT_LOCATION.chat
    receipt = DeliveryReceipt("f", message_id, "failed", 131047, "24 hours", chat, is_chat_unreachable=True)
    await running.channel.deliver(receipt, receipt)
    [dead] = await running.store.outbox.list(status="dead")
    assert (dead.dead_reason, dead.last_error) == ("chat_gone", "24 hours")
    await running.channel.deliver_message("back again")
    await running.channel.wait_for_text("/last sends it again")
    await running.channel.deliver_message("/last")
    said = f"You said: {text.strip()}"
    await running.channel.wait_until(lambda: running.channel.sent_texts().count(said) == 2)


async def test_a_delivered_answer_keeps_only_the_beginning_of_its_text(start) -> None:
    running = await start(channel=SyntheticChannel(reports_delivery=True))
    await running.channel.deliver_message("a long text " * 100)
    message_id = await wait_for_sent(running)
    await running.channel.deliver(DeliveryReceipt("d", message_id, "delivered"), failed(message_id))
    [entry] = [each for each in await running.store.outbox.list() if each.kind == "answer"]
    assert (entry.status, entry.delivered, len(entry.payload["text"])) == ("sent", True, 300)


async def test_a_failure_that_arrives_before_the_send_is_stored_is_applied_then(start) -> None:
    class Hasty(SyntheticChannel):
        """Its platform reports a failure before it answers the request."""

        async def send(self, entry: Any, before_request: Any = None) -> Any:
            result = await super().send(entry, before_request)
            if entry.kind == "answer" and entry.retried_at is None:
                await self.deliver(DeliveryReceipt("f", result.message_id, "failed", 131026, "no WhatsApp"))
            return result

    running = await start(channel=Hasty(reports_delivery=True))
    await running.channel.deliver_message("hello")
    await wait_for_dead(running, 1)
    await running.channel.wait_for_text("could not be delivered")
