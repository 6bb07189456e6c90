"""All clients together: what several wait for counts once, and beyond the budget the largest share is cut off first."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.testing import VirtualClock
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.hub.protocol.engineio_transport import TextMessage
from sophon_hosting.hub.sending.client_send_buffer import SendBuffer
from sophon_hosting.hub.sending.event_encoding import EncodedEvent, EventEncoder
from sophon_hosting.hub.sending.packet_queue import PacketQueue, TextPacket
from sophon_hosting.hub.sending.total_send_limit import SendLimit
from tests.hosting.hub.sending.test_client_send_buffer import FakeTransport

LIMITS = HubLimits(max_buffered_bytes=50_000, max_in_flight_packets=1, max_total_buffered_bytes=100_000)


class Crowd:
    """Clients of one hub, none of which reads."""

    def __init__(self) -> None:
        self.budget = SendLimit(LIMITS.max_total_buffered_bytes)
        self.encoder = EventEncoder(TextMessage)
        self.gone: dict[str, str] = {}
        self.buffers: dict[str, SendBuffer] = {}

    def join(self, *names: str) -> None:
        for name in names:
            buffer = self.buffers[name] = SendBuffer(
                FakeTransport(),
                TextMessage,
                VirtualClock(auto=False),
                LIMITS,
                lambda reason, name=name: self.gone.update({name: reason}),
                self.budget,
            )
            buffer.send_packet(TextPacket("in flight"))

    def tell(self, size: int, *names: str) -> None:
        event = WireEvent("message", {"content": "x" * size}, "s")
        for name in names:
            self.buffers[name].send_event(self.encoder.encode(event), "/")


@pytest.fixture
async def crowd():
    crowd = Crowd()
    yield crowd
    for buffer in crowd.buffers.values():
        buffer.close()
    await asyncio.sleep(0)
    assert crowd.budget.used_bytes == 0


async def test_an_event_for_which_all_wait_counts_once(crowd: Crowd) -> None:
    names = [f"c{number}" for number in range(20)]
    crowd.join(*names)
    crowd.tell(40_000, *names)
    assert 40_000 < crowd.budget.used_bytes < 41_000
    assert crowd.gone == {}


async def test_beyond_the_budget_the_client_with_the_largest_share_is_given_up(crowd: Crowd) -> None:
    crowd.join("a", "b", "c", "d")
    crowd.tell(30_000, "a")
    crowd.tell(45_000, "b")
    crowd.tell(20_000, "c")
    assert crowd.gone == {}
    crowd.tell(20_000, "d")
    assert list(crowd.gone) == ["b"]
    assert "bytes are buffered for all clients" in crowd.gone["b"]
    assert 70_000 < crowd.budget.used_bytes < 72_000


async def test_those_who_share_are_not_given_up_for_one_who_does_not(crowd: Crowd) -> None:
    many = [f"m{number}" for number in range(10)]
    crowd.join("alone", "b", *many)
    crowd.tell(45_000, *many)
    crowd.tell(44_000, "alone")
    crowd.tell(40_000, "b")
    assert list(crowd.gone) == ["alone"]


async def test_what_is_held_for_an_acknowledgement_counts_too(crowd: Crowd) -> None:
    crowd.join("a", "b", "c")
    for name in ("a", "b", "c"):
        crowd.buffers[name].hold()
        crowd.tell(40_000, name)
    assert len(crowd.gone) == 1


async def test_what_was_sent_counts_no_more(crowd: Crowd) -> None:
    crowd.join("a")
    crowd.tell(40_000, "a")
    transport = crowd.buffers["a"]._transport
    assert isinstance(transport, FakeTransport)
    transport.read()
    async with asyncio.timeout(30):
        while crowd.budget.used_bytes:
            await asyncio.sleep(0)
    (message,) = transport.read()
    assert isinstance(message, TextMessage)


def event(name: str, text: str) -> EncodedEvent:
    return EncodedEvent(WireEvent(name, {"task_id": "t", "epoch": 0, "text": text}, "s", "t"), TextMessage)


MESSAGES = [event("message", "x" * size) for size in (10, 1000)] + [event("stream_chunk", "y" * 10)]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 2, "take", "clear"])), max_size=60))
def test_the_budget_is_what_the_queues_hold_whatever_is_done(steps: list[tuple[int, int | str]]) -> None:
    budget = SendLimit(2**40)
    queues = [PacketQueue(budget) for _ in range(3)]
    for which, step in steps:
        if step == "take":
            queues[which].pop_batch(2, 500)
        elif step == "clear":
            queues[which].clear()
        else:
            queues[which].append_event(MESSAGES[int(step)], "/")
    packets = [packet for queue in queues for packet in queue._packets]
    shared = {id(packet.shared): packet.size for packet in packets if packet.shared is not None}
    assert budget.used_bytes == sum(shared.values()) + sum(p.size for p in packets if p.shared is None)
    shares = sum(queue.sum_shares(budget._share_of) for queue in queues)
    assert shares == pytest.approx(budget.used_bytes)
