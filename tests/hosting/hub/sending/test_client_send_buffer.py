"""The outbox: little is in Engine.IO's hands, order is kept, and a client that is too slow is given up."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from sophon.testing import VirtualClock
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.hub.sending.client_send_buffer import SendBuffer
from sophon_hosting.hub.sending.event_encoding import EventEncoder
from sophon_hosting.hub.sending.packet_queue import AnswerPacket, TextPacket

LIMITS = HubLimits(max_buffered_bytes=2000, max_in_flight_packets=3, max_in_flight_bytes=400, stall_timeout_seconds=30)


@dataclass
class FakeTransport:
    """A connection whose client reads when the test says so."""

    queue: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    left: int = 0

    def unsent_bytes(self) -> int:
        return self.left

    def read(self) -> list[str]:
        """All that is in hand, as a polling client takes it."""
        taken: list[str] = []
        while not self.queue.empty():
            taken.append(self.queue.get_nowait())
            self.queue.task_done()
        return taken


class Sender:
    def __init__(self) -> None:
        self.line, self.clock, self.reasons = FakeTransport(), VirtualClock(auto=False), list[str]()
        self.encoder = EventEncoder(str)
        self.outbox = SendBuffer(self.line, str, self.clock, LIMITS, self.reasons.append)

    def say(self, *texts: str) -> None:
        for text in texts:
            self.outbox.send_packet(TextPacket(text))

    def tell(self, text: str) -> None:
        frame = WireEvent("stream_chunk", {"task_id": "t", "epoch": 0, "text": text}, "s", "t")
        self.outbox.send_event(self.encoder.encode(frame), "/")

    async def all(self) -> list[list[str]]:
        """Read until nothing comes any more, batch by batch."""
        batches: list[list[str]] = []
        while True:
            await self.turns()
            batch = self.line.read()
            if not batch:
                return batches
            batches.append(batch)

    async def turns(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.fixture
async def sender():
    sender = Sender()
    yield sender
    sender.outbox.close()
    await sender.turns()


async def test_to_a_client_that_keeps_up_nothing_waits(sender) -> None:
    for text in "abcdefgh":
        sender.say(text)
        assert sender.line.read() == [text]
    assert sender.outbox.buffered_bytes == 0


async def test_a_batch_is_bounded_in_bytes_too(sender) -> None:
    sender.say("a" * 200, "b" * 200, "c" * 600, "d")
    batches = await sender.all()
    assert [[text[0] for text in batch] for batch in batches] == [["a"], ["b"], ["c"], ["d"]]


async def test_nothing_overtakes_what_waits(sender) -> None:
    sender.say(*"abcd")
    first = sender.line.read()
    sender.say("e")
    assert [first, *await sender.all()] == [["a", "b", "c"], ["d", "e"]]


async def test_what_waits_of_a_reply_becomes_one_piece(sender) -> None:
    sender.say(*"abc")
    for word in ("Good ", "morn", "ing"):
        sender.tell(word)
    batches = await sender.all()
    assert len(batches[1]) == 1
    assert "Good morning" in batches[1][0]


async def test_what_is_held_comes_after_the_answer(sender) -> None:
    sender.outbox.hold()
    sender.tell("news")
    sender.outbox.release(TextPacket("answer"))
    first, second = [text for batch in await sender.all() for text in batch]
    assert (first, "news" in second) == ("answer", True)


async def test_more_than_may_wait_gives_the_client_up(sender) -> None:
    sender.say(*("x" * 100 for _ in range(20)))
    assert len(sender.reasons) == 1
    assert "bytes are buffered" in sender.reasons[0]
    assert (sender.outbox.is_closed, sender.outbox.buffered_bytes) == (True, 0)


async def test_what_is_held_counts_too(sender) -> None:
    sender.outbox.hold()
    sender.say(*("x" * 100 for _ in range(20)))
    assert len(sender.reasons) == 1


async def test_a_client_that_takes_nothing_is_given_up(sender) -> None:
    sender.say(*"abcdef")
    await sender.clock.advance(29)
    assert sender.reasons == []
    await sender.clock.advance(1)
    assert sender.reasons == ["it accepted no data for 30 s"]


async def test_one_that_takes_a_large_packet_slowly_is_not(sender) -> None:
    sender.say(*"abcdef")
    sender.line.left = 5000
    await sender.turns()
    for left in (4000, 3000, 2000):
        sender.line.left = left
        await sender.clock.advance(30)
    assert sender.reasons == []


async def test_the_last_words_are_handed_over_however_slow_the_client(sender) -> None:
    sender.say(*"abcdefgh")
    sender.outbox.flush()
    assert sender.line.read() == list("abcdefgh")


async def test_a_closed_outbox_sends_nothing_and_keeps_nothing(sender) -> None:
    sender.say(*"abcdef")
    sender.outbox.close()
    sender.say("g")
    sender.tell("h")
    assert (sender.outbox.buffered_bytes, await sender.all()) == (0, [["a", "b", "c"]])


async def test_without_anything_to_send_there_is_no_task(sender) -> None:
    before = len(asyncio.all_tasks())
    sender.say(*"abcdef")
    await sender.all()
    assert len(asyncio.all_tasks()) == before


def test_a_frame_is_encoded_once_for_all_its_listeners() -> None:
    made: list[str] = []

    def message(text: str) -> str:
        made.append(text)
        return text

    encoder, frame = EventEncoder(message), WireEvent("message", {"content": "a"}, "s")
    packets = [encoder.encode(frame).engine_message(namespace) for _ in range(100) for namespace in ("/", "/operator")]
    assert made == ['2["message",{"content":"a"}]', '2/operator,["message",{"content":"a"}]']
    assert len({id(packet) for packet in packets}) == 2


def answer(sender: Sender, text: str) -> None:
    sender.outbox.hold()
    sender.outbox.release(AnswerPacket(text))


async def test_a_request_waits_until_the_answers_before_it_were_read(sender) -> None:
    answer(sender, "a" * 500)
    waiting = asyncio.create_task(sender.outbox.wait_for_answers(400))
    await sender.turns()
    assert (waiting.done(), sender.outbox.has_waiting_request) == (False, True)
    sender.line.read()
    await sender.turns()
    assert (waiting.done(), sender.outbox.has_waiting_request) == (True, False)


async def test_live_events_do_not_delay_a_request(sender) -> None:
    sender.say(*"abcdefgh")
    await asyncio.wait_for(sender.outbox.wait_for_answers(400), 5)


async def test_an_answer_behind_live_events_is_waited_for_too(sender) -> None:
    sender.say(*"abcdefgh")
    answer(sender, "x" * 500)
    waiting = asyncio.create_task(sender.outbox.wait_for_answers(400))
    batches = await sender.all()
    assert [text[0] for batch in batches for text in batch] == [*"abcdefgh", "x"]
    assert waiting.done()


async def test_answers_that_a_client_asked_for_do_not_make_it_slow(sender) -> None:
    sender.say(*"abc")
    answer(sender, "x" * 5000)
    sender.say("d" * 1000)
    assert sender.reasons == []
    sender.say("e" * 1000)
    assert "bytes are buffered" in sender.reasons[0]


async def test_a_client_that_reads_nothing_while_its_request_waits_is_given_up(sender) -> None:
    answer(sender, "a" * 500)
    waiting = asyncio.create_task(sender.outbox.wait_for_answers(400))
    await sender.turns()
    await sender.clock.advance(30)
    await sender.turns()
    assert (waiting.done(), len(sender.reasons)) == (True, 1)


@pytest.mark.parametrize("events", ["", "abcd"])
async def test_closing_ends_the_wait_of_a_request(sender, events: str) -> None:
    sender.say(*events)
    answer(sender, "x" * 500)
    waiting = asyncio.create_task(sender.outbox.wait_for_answers(400))
    await sender.turns()
    sender.outbox.close()
    await sender.turns()
    assert waiting.done()
