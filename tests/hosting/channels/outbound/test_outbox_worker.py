"""What becomes of each part that is sent: every receipt of a platform has its documented reaction."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest

from sophon.testing import VirtualClock
from sophon_channels.contract import (
    BeforeRequest,
    SendAmbiguous,
    SendChatMigrated,
    SendDeferred,
    SendPostponed,
    SendResult,
    SendUnauthorized,
    SendUndeliverable,
    before_no_request,
)
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.outbound.outbox_worker import OUTBOX_POLL_SECONDS, OutboxWorker
from sophon_hosting.channels.outbound.retry_rules import MAX_ENTRY_AGE
from sophon_hosting.store.sql_host_store import SqlHostStore


class Bench:
    """A ledger that is worked off in virtual time."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = SqlHostStore("memory://", clock=self.clock)
        self.moves: list[tuple[str, str]] = []
        self.use(SyntheticChannel())

    def use(self, channel: SyntheticChannel) -> None:
        self.channel = channel
        self.delivery = OutboxWorker(
            channel, self.store.outbox, self.clock, migrate_chat=self._moved, refresh_payload=self._ready
        )

    async def add(self, number: int, chat: str = "10") -> None:
        payload = {"text": f"part {number}"}
        entry = OutboundEntry(f"e{number}", None, "synthetic", "bot", chat, "note", payload, number)
        await self.store.outbox.add([entry])
        self.delivery.wake()

    async def status(self, number: int) -> str:
        return (await self.store.outbox.get(f"e{number}")).status

    async def pass_time(self, until: Callable[[], bool]) -> None:
        """Sleep in virtual time, second by second, until something is so.

        A clock without sleepers fires a timeout only after a quarter of a real second, each time the work looks again.
        """
        async with asyncio.timeout(30):
            while not until():
                await self.clock.sleep(1)

    async def _moved(self, old: str, new: str) -> None:
        self.moves.append((old, new))

    async def _ready(self, entry: OutboundEntry) -> None:
        return


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    work = asyncio.create_task(bench.delivery.run())
    yield bench
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def sent(bench: Bench, *receipts: SendResult) -> list[str]:
    """Send one part, whatever the platform says first."""
    bench.channel.send_results.extend(receipts)
    await bench.add(1)
    await bench.channel.wait_until(lambda: bool(bench.channel.sent))
    return [str(entry.payload["text"]) for entry in bench.channel.sent]


async def test_what_is_refused_is_sent_when_the_platform_says_and_not_before(bench: Bench) -> None:
    began = bench.clock.now()
    assert await sent(bench, SendDeferred("too many", timedelta(seconds=17))) == ["part 1"]
    assert timedelta(seconds=17) <= bench.clock.now() - began < timedelta(seconds=30)


async def test_while_one_chat_waits_others_are_served(bench: Bench) -> None:
    bench.channel.send_results.append(SendDeferred("too many", timedelta(hours=2)))
    await bench.add(1)
    await bench.add(2, chat="11")
    await bench.channel.wait_until(lambda: len(bench.channel.sent) == 1)
    assert bench.channel.sent[0].chat == "11"


async def test_a_refusal_everywhere_holds_everything(bench: Bench) -> None:
    bench.channel.send_results.append(SendDeferred("the bot is too fast", timedelta(minutes=5), is_account_wide=True))
    began = bench.clock.now()
    await bench.add(1)
    await bench.channel.wait_until(lambda: not bench.channel.send_results)
    await bench.add(2, chat="11")
    await bench.pass_time(lambda: len(bench.channel.sent) == 2)
    assert bench.clock.now() - began >= timedelta(minutes=5)


async def test_what_may_have_arrived_is_sent_again_and_marked(bench: Bench) -> None:
    await sent(bench, SendAmbiguous("no answer"))
    assert bench.channel.sent[0].doubtful
    await bench.channel.wait_until(lambda: True)


async def test_what_is_refused_for_a_day_is_given_up(bench: Bench) -> None:
    bench.channel.send_results.extend([SendDeferred("too many", timedelta(hours=5))] * 10)
    began = bench.clock.now()
    await bench.add(1)
    async with asyncio.timeout(30):
        while await bench.status(1) != "dead":
            await bench.clock.sleep(60)
    assert MAX_ENTRY_AGE < bench.clock.now() - began < MAX_ENTRY_AGE + timedelta(hours=6)


async def test_a_chat_that_moved_gets_it_once_at_its_new_place(bench: Bench) -> None:
    await sent(bench, SendChatMigrated("-100"))
    assert [(entry.chat, entry.payload["text"]) for entry in bench.channel.sent] == [("-100", "part 1")]
    assert bench.moves == [("10", "-100")]


async def test_a_chat_that_says_it_moved_again_and_again_stops_nothing(bench: Bench) -> None:
    bench.channel.send_results.extend([SendChatMigrated("-100"), SendChatMigrated("-100")])
    await bench.add(1)
    await bench.channel.wait_until(lambda: not bench.channel.send_results)
    await bench.add(2)
    await bench.channel.wait_until(lambda: len(bench.channel.sent) == 1)
    assert bench.channel.sent[0].id == "e2"


async def test_parts_of_a_chat_arrive_in_order_whatever_happens_to_the_first(bench: Bench) -> None:
    bench.channel.send_results.append(SendDeferred("too many", timedelta(seconds=3)))
    for number in range(1, 5):
        await bench.add(number)
    await bench.channel.wait_until(lambda: len(bench.channel.sent) == 4)
    assert [entry.id for entry in bench.channel.sent] == ["e1", "e2", "e3", "e4"]


async def test_what_a_killed_process_was_sending_is_sent_again_and_marked() -> None:
    bench = Bench()
    await bench.add(1)
    await bench.store.outbox.mark_sending("e1")
    work = asyncio.create_task(bench.delivery.run())
    await bench.channel.wait_until(lambda: bool(bench.channel.sent))
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert bench.channel.sent[0].doubtful


async def test_what_is_refused_or_postponed_never_counts_as_a_try(bench: Bench) -> None:
    bench.channel.send_results.extend([SendDeferred("too many", timedelta(seconds=1))] * 3)
    bench.channel.send_results.append(SendAmbiguous("no answer"))
    bench.channel.send_results.extend([SendPostponed(timedelta(seconds=1))] * 3)
    await bench.add(1)
    await bench.pass_time(lambda: len(bench.channel.sent) == 1)
    await bench.pass_time(lambda: not bench.delivery._in_flight)
    assert (await bench.store.outbox.get("e1")).attempts == 2


async def test_an_entry_that_waits_for_a_limit_is_never_in_the_state_sending(bench: Bench) -> None:
    bench.channel.send_results.append(SendPostponed(timedelta(hours=1)))
    await bench.add(1)
    await bench.channel.wait_until(lambda: not bench.channel.send_results)
    await bench.pass_time(lambda: not bench.delivery._in_flight)
    entry = await bench.store.outbox.get("e1")
    assert (entry.status, entry.attempts) == ("pending", 0)
    assert await bench.store.outbox.recover_interrupted("synthetic") == []


async def test_a_request_that_leaves_is_stored_as_sending_before_it_leaves() -> None:
    bench = Bench()
    seen: list[str] = []

    class Watched(SyntheticChannel):
        async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
            seen.append((await bench.store.outbox.get(entry.id)).status)
            await before_request()
            seen.append((await bench.store.outbox.get(entry.id)).status)
            return await super().send(entry)

    await worked(bench, Watched())
    assert seen == ["pending", "sending"]


async def test_an_error_before_the_request_leaves_is_no_doubt() -> None:
    bench, failures = Bench(), [RuntimeError("a bug")]

    class Broken(SyntheticChannel):
        async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
            if failures:
                raise failures.pop()
            return await super().send(entry, before_request)

    [entry] = await worked(bench, Broken())
    assert not entry.doubtful


async def test_an_entry_that_another_process_sends_does_not_leave_twice() -> None:
    bench, left = Bench(), list[str]()

    class Late(SyntheticChannel):
        async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
            if entry.id == "e1":
                await bench.store.outbox.mark_sending("e1")  # the other process
            await before_request()
            left.append(entry.id)
            return await super().send(entry)

    bench.use(Late())
    work = asyncio.create_task(bench.delivery.run())
    await bench.add(1)
    await bench.add(2, chat="11")
    await bench.channel.wait_until(lambda: bool(bench.channel.sent))
    await bench.pass_time(lambda: not bench.delivery._in_flight)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    assert left == ["e2"]
    assert (await bench.store.outbox.get("e1")).status == "sending"


async def test_nothing_is_sent_before_the_start_has_ended_and_then_at_once() -> None:
    bench = Bench()
    bench.delivery.hold()
    work = asyncio.create_task(bench.delivery.run())
    await bench.add(1)
    await bench.clock.sleep(100)
    assert bench.channel.sent == []
    began = bench.clock.now()
    bench.delivery.resume()
    await bench.channel.wait_until(lambda: bool(bench.channel.sent))
    assert bench.clock.now() - began < timedelta(seconds=1)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def test_a_start_that_succeeds_clears_every_penalty(bench: Bench) -> None:
    bench.channel.send_results.append(SendDeferred("too many", timedelta(hours=2), is_account_wide=True))
    await bench.add(1)
    await bench.channel.wait_until(lambda: not bench.channel.send_results)
    await bench.pass_time(lambda: not bench.delivery._in_flight)
    began = bench.clock.now()
    bench.delivery.resume()
    await bench.channel.wait_until(lambda: bool(bench.channel.sent))
    assert bench.clock.now() - began < timedelta(seconds=1)


async def test_a_rejected_credential_holds_everything_until_it_is_accepted_again(bench: Bench) -> None:
    reported: list[str] = []
    bench.delivery._on_unauthorized = lambda: reported.append("rejected")
    bench.channel.send_results.append(SendUnauthorized("401"))
    await bench.add(1)
    await bench.channel.wait_until(lambda: not bench.channel.send_results)
    await bench.add(2, chat="11")
    await bench.clock.sleep(1000)
    assert (bench.channel.sent, reported) == ([], ["rejected"])
    bench.delivery.resume()
    await bench.channel.wait_until(lambda: len(bench.channel.sent) == 2)
    assert (await bench.store.outbox.get("e1")).attempts == 1


async def test_the_worker_wakes_when_something_is_due_and_not_at_an_interval(bench: Bench) -> None:
    bench.channel.send_results.append(SendPostponed(timedelta(seconds=1.5)))
    began = bench.clock.now()
    await bench.add(1)
    await bench.channel.wait_until(lambda: bool(bench.channel.sent))
    assert timedelta(seconds=1.5) <= bench.clock.now() - began < timedelta(seconds=1.6)


async def test_an_entry_of_another_process_is_found_within_the_bound(bench: Bench) -> None:
    await bench.clock.sleep(1)
    await bench.store.outbox.add([OutboundEntry("x", None, "synthetic", "bot", "10", "note", {"text": "x"})])
    began = bench.clock.now()
    await bench.channel.wait_until(lambda: bool(bench.channel.sent))
    assert bench.clock.now() - began <= timedelta(seconds=OUTBOX_POLL_SECONDS)


async def test_the_parts_of_a_message_to_a_chat_that_is_gone_end_at_once_and_the_next_message_gets_a_try(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.channel.send_results.append(SendUndeliverable("blocked", is_chat_gone=True))
    parts = [OutboundEntry(f"m:{n}", None, "synthetic", "bot", "10", "note", {"text": f"{n}"}, n) for n in range(3)]
    await bench.store.outbox.add(parts)
    await bench.add(7)
    await bench.channel.wait_until(lambda: bool(bench.channel.sent))
    assert [entry.id for entry in bench.channel.sent] == ["e7"]
    assert {(await bench.store.outbox.get(part.id)).status for part in parts} == {"dead"}
    assert bench.channel.health.counts["undelivered"] == 3
    assert sum("could not be delivered" in record.getMessage() for record in caplog.records) == 1


async def test_an_answer_that_may_have_arrived_three_times_is_dead_and_says_so(bench: Bench) -> None:
    bench.channel.send_results.extend([SendAmbiguous("no answer")] * 3)
    await bench.add(1)
    async with asyncio.timeout(30):
        while await bench.status(1) != "dead":
            await bench.clock.sleep(1)
    entry = await bench.store.outbox.get("e1")
    assert (entry.doubtful, entry.attempts) == (True, 3)
    assert "may have arrived" in entry.last_error


async def test_a_dead_letter_that_is_retried_is_sent_with_its_mark(bench: Bench) -> None:
    bench.channel.send_results.extend([SendAmbiguous("no answer")] * 3)
    await bench.add(1)
    async with asyncio.timeout(30):
        while await bench.status(1) != "dead":
            await bench.clock.sleep(1)
    await bench.store.outbox.retry("e1")
    bench.delivery.wake()
    await bench.channel.wait_until(lambda: bool(bench.channel.sent))
    assert bench.channel.sent[0].doubtful


async def worked(bench: Bench, channel: SyntheticChannel) -> list[OutboundEntry]:
    """Send one entry through another channel; return what was sent."""
    bench.use(channel)
    work = asyncio.create_task(bench.delivery.run())
    await bench.add(1)
    await channel.wait_until(lambda: bool(channel.sent))
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    return channel.sent
