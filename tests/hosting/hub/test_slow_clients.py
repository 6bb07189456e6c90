"""A client that has stopped reading costs little, and nobody else notices; it comes back and goes on."""

import asyncio
import logging
import sys
import tracemalloc

import pytest

from sophon.events import AgentStatus, StreamChunk
from sophon_hosting.hub.limits import HubLimits

MEGABYTE = 1024 * 1024
KILOBYTES = "x" * 10_000


def status(number: int) -> AgentStatus:
    return AgentStatus(session_id="s", task_id="t", run_id="t", status="thinking", detail=f"{number} {KILOBYTES}")


class Bystander:
    """Another client of the same session, which counts what it is told and keeps nothing."""

    def __init__(self, peer) -> None:
        self.count = 0
        self.in_order = True
        peer.hear = self.hear
        peer.client.on("*", self.hear, namespace="/")

    def hear(self, name: str, data) -> None:
        self.in_order &= data["detail"].startswith(f"{self.count} ")
        self.count += 1


def cost(house) -> int:
    """Bytes that are held for the slowest client: by the hub, in Engine.IO's queue and in the network's buffer."""
    costs = [0]
    for connection in house.hub._connections.values():
        line = house.hub._engine_connections[connection.id]
        queued = sum(map(sys.getsizeof, list(line.queue._queue)))
        costs.append(connection.send_buffer.buffered_bytes + queued + line.unsent_bytes())
    return max(costs)


async def test_a_client_that_has_stopped_reading_costs_at_most_8_mb_and_nobody_else_notices(house, caplog) -> None:
    caplog.set_level(logging.WARNING)
    other = await house.peer()
    await other.done("join_session", {"session_id": "s"})
    bystander = Bystander(other)
    async with house.raw() as raw:
        await raw.say('421["join_session",{"session_id":"s"}]')
        await raw.next()
        raw.stop_reading()
        tracemalloc.start()
        base, most, traced = tracemalloc.get_traced_memory()[0], 0, 0
        for number in range(3000):
            house.host.event_bus.emit(status(number))
            if number % 20 == 19:
                await house.settled(lambda number=number: bystander.count == number + 1)
                most, traced = max(most, cost(house)), max(traced, tracemalloc.get_traced_memory()[0] - base)
        tracemalloc.stop()
        assert house.hub.statistics().disconnected == 1
        assert MEGABYTE < most < 8 * MEGABYTE
        assert traced < 8 * MEGABYTE
        assert bystander.in_order
        assert "bytes are buffered; it can resume with last_seq" in caplog.text
        await house.clock.advance(5)
        await house.settled(lambda: len(house.hub._server.eio.websockets) == 1)
        raw.cut()
    assert house.hub.statistics().connections == 1


async def test_one_that_takes_nothing_for_half_a_minute_is_disconnected_and_resumes(house, caplog) -> None:
    async with house.raw() as raw:
        await raw.say('421["send_message",{"content":"hello","session_id":"s"}]')
        packet = await raw.next()
        while '"task_completed"' not in packet:
            packet = await raw.next()
        raw.stop_reading()
        number = 0
        while house.hub.statistics().buffered_bytes == 0:
            house.host.event_bus.emit(status(number))
            number += 1
            await asyncio.sleep(0)
        await house.clock.advance(29)
        assert house.hub.statistics().disconnected == 0
        await house.clock.advance(1)
        assert house.hub.statistics().disconnected == 1
        await house.clock.advance(5)
        await house.settled(lambda: not house.hub._server.eio.websockets)
        raw.cut()
    assert "it accepted no data for 30 s" in caplog.text
    back = await house.peer()
    joined = await back.done("join_session", {"session_id": "s", "last_seq": 2})
    assert joined["events"][0]["data"]["seq"] == 3


@pytest.mark.parametrize("limits", [HubLimits(max_buffered_bytes=MEGABYTE)])
async def test_one_that_is_only_slow_is_told_the_whole_reply_in_fewer_pieces(house, limits) -> None:
    async with house.raw() as raw:
        await raw.say('421["join_session",{"session_id":"s"}]')
        await raw.next()
        raw.stop_reading()
        while house.hub.statistics().buffered_bytes == 0:
            house.host.event_bus.emit(status(0))
            await asyncio.sleep(0)
        words = [f"{number} " for number in range(2000)]
        for word in words:
            house.host.event_bus.session("s").publisher.publish(
                StreamChunk(session_id="s", task_id="t", run_id="t", epoch=0, text=word)
            )
        assert house.hub.statistics().buffered_bytes < 50_000
        raw.read_on()
        pieces: list[str] = []
        while sum(map(len, pieces)) < len("".join(words)):
            packet = await raw.next()
            if "stream_chunk" in packet:
                pieces.append(packet.partition('"text":"')[2].partition('"')[0])
        assert "".join(pieces) == "".join(words)
        assert len(pieces) < 10


async def test_a_polling_client_that_does_not_poll_is_disconnected(house) -> None:
    address = f"{house.url}/socket.io/?EIO=4&transport=polling"
    async with house.http.get(address) as answer:
        address += "&sid=" + (await answer.text()).partition('"sid":"')[2].partition('"')[0]
    async with house.http.post(address, data='40{"token":"token-of-ada"}') as answer:
        assert answer.status == 200
    async with house.http.post(address, data='421["join_session",{"session_id":"s"}]') as answer:
        assert answer.status == 200
    for number in range(50):
        house.host.event_bus.emit(status(number))
    await asyncio.sleep(0)
    await house.clock.advance(30)
    await house.settled(lambda: house.hub.statistics().connections == 0)
    async with house.http.get(address) as answer:
        assert answer.status == 400


async def test_while_one_has_stopped_reading_the_hub_still_stops(house) -> None:
    async with house.raw() as raw:
        await raw.say('421["join_session",{"session_id":"s"}]')
        await raw.next()
        raw.stop_reading()
        while house.hub.statistics().buffered_bytes == 0:
            house.host.event_bus.emit(status(0))
            await asyncio.sleep(0)
        stopping = asyncio.create_task(house.hub.stop())
        await asyncio.sleep(0)
        await house.clock.advance(5)
        await stopping
        raw.cut()
    assert house.hub.statistics().connections == 0


async def test_one_that_says_something_wrong_and_reads_nothing_ends_too(house) -> None:
    async with house.raw() as raw:
        await raw.say('421["join_session",{"session_id":"s"}]')
        await raw.next()
        raw.stop_reading()
        while house.hub.statistics().buffered_bytes == 0:
            house.host.event_bus.emit(status(0))
            await asyncio.sleep(0)
        (websocket,) = house.hub._server.eio.websockets.values()
        await raw.say("this is no packet")
        await house.settled(lambda: websocket._close_timeout is not None)
        await house.clock.advance(5)
        await house.settled(lambda: not house.hub._server.eio.websockets and not house.hub._connections)
        raw.cut()


async def test_clients_that_have_stopped_reading_wait_for_the_same_objects(house) -> None:
    async with house.raw() as one, house.raw() as two:
        for raw in (one, two):
            await raw.say('421["join_session",{"session_id":"telegram-5"}]')
            await raw.next()
            raw.stop_reading()
        budget = house.hub._send_limit
        while budget.used_bytes < MEGABYTE:
            event = status(0)
            event.session_id = "telegram-5\u241fada"  # known to its owner as telegram-5
            house.host.event_bus.emit(event)
            await asyncio.sleep(0)
        one_of_two = house.hub.statistics().buffered_bytes / 2
        assert abs(one_of_two - budget.used_bytes) < 200_000  # what each has in flight
        for raw in (one, two):
            raw.cut()
        await house.settled(lambda: house.hub.statistics().connections == 0)
    assert budget.used_bytes == 0
