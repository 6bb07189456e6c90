"""A client that asks for much at once gets it at the speed at which it reads, and is not taken for a slow one."""

import asyncio
import json

import pytest

from sophon.events import TaskQueued
from sophon_hosting.hub.limits import HubLimits
from tests.hosting.hub.test_slow_clients import KILOBYTES, MEGABYTE, cost

JOINS = 30
EVENTS = 85
"""About 870 kB of replay: all of it fits one."""


def queued(number: int) -> TaskQueued:
    task = f"t{number}"
    return TaskQueued(session_id="s", task_id=task, run_id=task, position=0, text=KILOBYTES)


async def fill(house, session_id: str = "s") -> None:
    """A session with a long replay, and nobody who listens."""
    writer = await house.peer()
    await writer.done("join_session", {"session_id": session_id})
    for number in range(EVENTS):
        house.host.event_bus.emit(queued(number))
    await house.host.event_bus.flush(session_id)
    await writer.close()
    await house.settled(lambda: not house.hub.statistics().connections)


async def test_pipelined_joins_are_served_one_after_the_other_and_nobody_is_disconnected(house) -> None:
    await fill(house)
    most = 0
    async with house.raw() as raw:
        raw.stop_reading()
        for number in range(JOINS):
            await raw.say(f'42{number + 100}["join_session",{{"session_id":"s","last_seq":0}}]')
        for _ in range(2000):
            await asyncio.sleep(0)
            most = max(most, cost(house))
        raw.read_on()
        answered = []
        while len(answered) < JOINS:
            packet = await raw.next()
            most = max(most, cost(house))
            if packet.startswith("43"):
                identifier, _, body = packet[2:].partition("[")
                answered.append(int(identifier))
                assert len(json.loads(f"[{body}")[0]["events"]) == EVENTS
        assert answered == [number + 100 for number in range(JOINS)]
    assert house.hub.statistics().disconnected == 0
    assert most < 8 * MEGABYTE


async def test_live_events_follow_the_replay_that_a_slow_client_asked_for(house) -> None:
    await fill(house)
    async with house.raw() as raw:
        raw.stop_reading()
        for number in range(10):
            await raw.say(f'42{number + 100}["join_session",{{"session_id":"s","last_seq":0}}]')
        await house.settled(lambda: bool(next(iter(house.hub._clients.values())).sessions))
        house.host.event_bus.emit(queued(EVENTS))
        await house.host.event_bus.flush("s")
        raw.read_on()
        last = 0
        for _ in range(10):
            packet = await raw.next()
            while not packet.startswith("43"):
                packet = await raw.next()
            last = json.loads(packet[packet.index("[") :])[0]["seq"]
        assert last == EVENTS + 1
    assert house.hub.statistics().disconnected == 0


@pytest.mark.parametrize("limits", [HubLimits(max_in_flight_bytes=1000)])
async def test_a_cancellation_is_not_delayed_by_one_large_answer(house, limits) -> None:
    await fill(house)
    async with house.raw() as raw:
        await raw.say('421["send_message",{"content":"stall here","session_id":"t"}]')
        packet = await raw.next()
        while not packet.startswith("431"):
            packet = await raw.next()
        task_id = json.loads(packet[3:])[0]["task_id"]
        await house.stalled.wait()
        raw.stop_reading()
        await raw.say('422["join_session",{"session_id":"s","last_seq":0}]')
        await raw.say(f'423["cancel_task",{{"task_id":"{task_id}"}}]')

        async def cancelled() -> bool:
            return (await house.host.services.store.runs.get(task_id)).cancel_requested

        async with asyncio.timeout(30):
            while not await cancelled():
                await asyncio.sleep(0)
        raw.cut()


async def test_a_client_whose_requests_wait_is_not_closed_for_a_late_pong(house) -> None:
    await fill(house)
    async with house.raw() as raw:
        raw.stop_reading()
        for number in range(JOINS):
            await raw.say(f'42{number + 100}["join_session",{{"session_id":"s","last_seq":0}}]')
        connection = next(iter(house.hub._connections.values()))
        await house.settled(lambda: connection.send_buffer.has_waiting_request)
        [engine_socket] = house.hub._server.eio.sockets.values()
        engine_socket.last_ping = 1.0  # long ago
        assert await engine_socket.check_ping_timeout()
        assert engine_socket.last_ping > 1.0
        raw.cut()


async def test_waiting_requests_of_a_client_that_is_cut_end_at_once(house) -> None:
    """At once: the virtual clock stands still, so that no timeout can end them."""
    await fill(house)
    async with house.raw() as raw:
        raw.stop_reading()
        for number in range(JOINS):
            await raw.say(f'42{number + 100}["join_session",{{"session_id":"s","last_seq":0}}]')
        connection = next(iter(house.hub._connections.values()))
        await house.settled(lambda: connection.send_buffer.has_waiting_request)
        before = house.clock.monotonic()
        raw.cut()
        await house.settled(lambda: not connection.send_buffer.has_waiting_request and not house.hub._connections)
        assert house.clock.monotonic() == before
    assert house.hub.statistics().disconnected == 0
