"""A platform that hangs: one chat waits, and neither another chat nor the platform's own call waits with it."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sophon.errors import NotFound, StoreError
from sophon.testing import VirtualClock
from sophon_channels.contract import BeforeRequest, SendChatMigrated, SendResult, before_no_request
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.outbound.outbox_worker import OutboxWorker
from sophon_hosting.store.sql_host_store import SqlHostStore


class Stubborn(SyntheticChannel):
    """Sending into some chats takes until `gate` is open."""

    def __init__(self, *chats: str) -> None:
        super().__init__()
        self.gate, self.tried = asyncio.Event(), list[str]()
        self._slow = chats

    async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
        await before_request()
        self.tried.append(entry.id)
        self._notify()
        if entry.chat in self._slow:
            await self.gate.wait()
        return await super().send(entry)


class Bench:
    """A ledger that is worked off in virtual time."""

    def __init__(self, channel: SyntheticChannel) -> None:
        self.clock = VirtualClock()
        self.store = SqlHostStore("memory://", clock=self.clock)
        self.channel = channel
        self.delivery = OutboxWorker(
            channel, self.store.outbox, self.clock, migrate_chat=self._moved, refresh_payload=self._ready
        )
        self.work = asyncio.create_task(self.delivery.run())

    async def add(self, name: str, chat: str) -> None:
        await self.store.outbox.add([OutboundEntry(name, None, "synthetic", "bot", chat, "note", {"text": name})])
        self.delivery.wake()

    async def end(self) -> None:
        self.work.cancel()
        await asyncio.gather(self.work, return_exceptions=True)

    async def _moved(self, old: str, new: str) -> None:
        return

    async def _ready(self, entry: OutboundEntry) -> None:
        return


async def test_a_chat_that_hangs_holds_up_no_other_chat() -> None:
    channel = Stubborn("10")
    bench = Bench(channel)
    await bench.add("slow", "10")
    await channel.wait_until(lambda: channel.tried == ["slow"])
    await bench.add("quick", "11")
    await channel.wait_until(lambda: [entry.id for entry in channel.sent] == ["quick"])
    channel.gate.set()
    await bench.end()


async def test_what_is_being_sent_at_a_stop_is_noted_and_not_sent_again() -> None:
    channel = Stubborn("10")
    bench = Bench(channel)
    await bench.add("slow", "10")
    await channel.wait_until(lambda: channel.tried == ["slow"])
    ending = asyncio.create_task(bench.end())
    await asyncio.sleep(0)
    channel.gate.set()
    await ending
    assert (await bench.store.outbox.get("slow")).status == "sent"


async def test_what_was_sent_is_not_sent_again_because_the_store_failed_then() -> None:
    channel = Stubborn()
    bench = Bench(channel)
    kept, failures = bench.store.outbox.mark_sent, [StoreError("memory", "the disk is full")] * 2

    async def sent(entry_id: str, platform_id: str | None = None, **fields: Any) -> OutboundEntry:
        if failures:
            raise failures.pop()
        return await kept(entry_id, platform_id, **fields)

    bench.store.outbox.mark_sent = sent  # type: ignore[method-assign] # a store that fails for a while
    await bench.add("first", "10")
    await bench.add("second", "10")
    await channel.wait_until(lambda: channel.tried[-1:] == ["second"])
    await bench.end()
    assert channel.tried == ["first", "second"]


async def test_an_error_in_one_chat_leaves_what_is_being_sent_in_another_alone() -> None:
    channel = Stubborn("10")
    bench = Bench(channel)
    kept, failures = bench.store.outbox.mark_sending, [StoreError("memory", "the disk is full")]

    async def sending(entry_id: str, payload: Mapping[str, Any] | None = None) -> OutboundEntry:
        if entry_id == "broken" and failures:
            raise failures.pop()
        return await kept(entry_id, payload)

    bench.store.outbox.mark_sending = sending  # type: ignore[method-assign] # a store that fails once
    await bench.add("slow", "10")
    await bench.add("broken", "11")
    await channel.wait_until(lambda: [entry.id for entry in channel.sent] == ["broken"])
    channel.gate.set()
    await channel.wait_until(lambda: len(channel.sent) == 2)
    await bench.clock.sleep(timedelta(minutes=1).total_seconds())
    await bench.end()
    assert channel.tried.count("slow") == 1
    assert not (await bench.store.outbox.get("slow")).doubtful


async def test_a_message_to_a_chat_that_moved_survives_a_failure_in_the_middle_of_it() -> None:
    channel = Stubborn()
    bench = Bench(channel)
    kept, failures = bench.store.outbox.add, [StoreError("memory", "the disk is full")]

    async def add(entries: Any) -> int:
        if failures and entries[0].id.endswith("@moved"):
            raise failures.pop()
        return await kept(entries)

    bench.store.outbox.add = add  # type: ignore[method-assign] # a store that fails once
    channel.send_results.append(SendChatMigrated("-100"))
    await bench.add("first", "10")
    await channel.wait_until(lambda: [entry.chat for entry in channel.sent] == ["-100"])
    await bench.end()


async def test_what_cannot_be_made_ready_is_sent_as_it_was_written_and_nothing_spins() -> None:
    channel = Stubborn()
    bench = Bench(channel)
    asked: list[str] = []

    async def ready(entry: OutboundEntry) -> None:
        asked.append(entry.id)
        raise NotFound("approval", "a1")

    bench.delivery._delivery._refresh_payload = ready
    await bench.add("first", "10")
    await channel.wait_until(lambda: len(channel.sent) == 1 or len(asked) > 50)
    await bench.end()
    assert asked == ["first"]
