"""Nothing stays of who has left, however they leave; and nothing of the hub once it has stopped."""

import asyncio
import gc
import json

from sophon.events import AgentStatus
from sophon_hosting.client_api.authentication.login_throttle import (
    FIRST_DELAY_SECONDS,
    FREE_FAILURES,
    MAX_DELAY_SECONDS,
)


def remains(house) -> dict[str, int]:
    """Everything that is kept per connection, here and in the libraries."""
    hub, server = house.hub, house.hub._server
    return {
        "connections": len(hub._connections) + len(hub._engine_connections),
        "clients": len(hub._clients),
        "strangers": len(hub._handshakes) + len(hub._clients_per_user),
        "work": len(hub._background_tasks),
        "sockets": len(server.eio.sockets),
        "websockets": len(server.eio.websockets),
        "pings": len(server.eio._ping_tasks),
        "environs": len(server.environ),
        "rooms": len(server.manager.rooms),
        "pending": len(server.manager.pending_connect) + len(server.manager.pending_disconnect),
        "lanes": house.host.event_bus.session_count,
        "watchers": len(house.host.event_bus._global_listeners),
    }


def nothing(house) -> bool:
    return not any(remains(house).values())


async def visit(house, number: int) -> None:
    """One of the ways to come and go."""
    namespace = "/operator" if number % 4 == 3 else "/"
    transports = [["websocket"], ["polling"], ["polling", "websocket"]][number % 3]
    peer = await house.peer("olga", namespace, transports=transports)
    await peer.done("join_session", {"session_id": f"s{number % 5}"})
    await peer.close()


async def test_after_two_hundred_visits_nothing_is_left(house) -> None:
    await visit(house, 0)
    await house.settled(lambda: nothing(house))
    tasks = len(asyncio.all_tasks())
    for first in range(0, 200, 10):
        await asyncio.gather(*(visit(house, first + each) for each in range(10)))
    await house.settled(lambda: nothing(house))
    await house.settled(lambda: len(asyncio.all_tasks()) <= tasks)


async def test_a_line_that_is_cut_is_forgotten_too(house) -> None:
    async with house.raw() as raw:
        await raw.say('421["join_session",{"session_id":"s"}]')
        await raw.next()
        raw.cut()
        await house.settled(lambda: nothing(house))


def delays(house) -> list[float]:
    """The delays of refusals so far."""
    return [each for each in house.clock.slept if FIRST_DELAY_SECONDS <= each <= MAX_DELAY_SECONDS]


async def test_who_was_refused_leaves_nothing(house) -> None:
    for number in range(20):
        async with house.raw(None) as raw:
            await raw.say('40{"token":"wrong"}')
            if number >= FREE_FAILURES:  # its answer is delayed
                await house.settled(lambda count=number - FREE_FAILURES: len(delays(house)) > count)
                await house.clock.advance(MAX_DELAY_SECONDS)
            await raw.next()
    await house.settled(lambda: nothing(house))


async def test_who_goes_while_a_refusal_is_delayed_leaves_nothing(house) -> None:
    for number in range(FREE_FAILURES + 1):
        async with house.raw(None) as raw:
            await raw.say('40{"token":"wrong"}')
            if number < FREE_FAILURES:
                await raw.next()
            else:
                await house.settled(lambda: FIRST_DELAY_SECONDS in house.clock.slept)
                raw.cut()
    await house.clock.advance(MAX_DELAY_SECONDS)
    await house.settled(lambda: nothing(house))


async def test_a_client_that_goes_while_it_is_being_answered_is_forgotten(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "stall here", "session_id": "s"})
    await house.stalled.wait()
    async with house.raw() as raw:
        await raw.say('421["join_session",{"session_id":"s"}]422["cancel_task",{}]')
        await raw.say(f'423["cancel_task",{{"task_id":"{receipt["task_id"]}"}}]')
        await raw.say('424["join_session",{"session_id":"s"}]')
        raw.cut()
    await ada.until("task_cancelled")
    await ada.close()
    await house.settled(lambda: nothing(house))


async def test_a_client_is_freed_from_memory(house) -> None:
    peer = await house.peer()
    (kept,) = house.hub._clients.values()
    kind = type(kept)
    del kept
    await peer.close()
    await house.settled(lambda: nothing(house))
    gc.collect()
    assert not [each for each in gc.get_objects() if type(each) is kind]


async def test_a_hub_that_has_stopped_leaves_no_task(house) -> None:
    before = asyncio.all_tasks()
    peers = [await house.peer(transports=[each]) for each in ("websocket", "polling")]
    await house.hub.stop()
    for peer in peers:
        await asyncio.wait_for(peer.gone.wait(), 20)
        await peer.close()
    await house.settled(lambda: nothing(house))
    await house.settled(lambda: not [task for task in asyncio.all_tasks() - before if "sophon" in repr(task)])
    await house.hub.stop()


async def test_what_waits_is_told_before_the_hub_stops(house) -> None:
    async with house.raw() as raw:
        await raw.say('421["join_session",{"session_id":"s"}]')
        await raw.next()
        for number in range(30):
            house.host.event_bus.emit(AgentStatus(session_id="s", status="thinking", detail=str(number)))
        await house.hub.stop()
        told = [json.loads((await raw.next())[2:])[1]["detail"] for _ in range(30)]
        assert (told, await raw.end()) == ([str(number) for number in range(30)], 1000)


async def test_a_client_that_was_sent_away_while_it_was_joining_is_forgotten(house) -> None:
    async with house.raw() as raw:
        async with house.host.event_bus.session("s").hold():
            await raw.say('421["join_session",{"session_id":"s"}]')
            await house.settled(lambda: house.host.event_bus._sequencers["s"].lock_user_count == 2)
            stopping = asyncio.create_task(house.hub.stop())
            await house.settled(lambda: not house.hub._clients)
        await stopping
    await house.settled(lambda: nothing(house))
