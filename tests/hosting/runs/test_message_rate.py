"""How many messages a host takes per minute: of one sender, of one client, of all, and after a restart."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from sophon.settings import Settings
from sophon_hosting.host import Host
from sophon_hosting.queue.errors import QueueFull, TooManyMessages
from sophon_hosting.runs.message_rate import find_message_limits

SENDER = {"Guards": {"RateLimit": {"MessagesPerMinute": 2}}}


async def send(world: Any, host: Host, count: int, **message: Any) -> list[str]:
    """Send messages one after the other; return what became of each."""
    return [await try_to_send(world, host, **message) for _ in range(count)]


async def try_to_send(world: Any, host: Host, *, channel: str = "telegram", **message: Any) -> str:
    try:
        await world.send(host, "hello", channel=channel, **message)
    except TooManyMessages as error:
        return f"{error.retry_after_seconds}"
    return "accepted"


async def test_thirty_messages_of_a_sender_are_taken_within_a_minute_by_default(world) -> None:
    host = world.host()
    assert await send(world, host, 31) == ["accepted"] * 30 + ["60"]
    assert len(await world.store.runs.list()) == 30


async def test_the_window_of_a_sender_slides(world, clock) -> None:
    host = world.host(SENDER)
    await send(world, host, 1)
    await clock.advance(20)
    assert await send(world, host, 2) == ["accepted", "40"]
    await clock.advance(39.999)
    assert await send(world, host, 1) == ["1"]
    await clock.advance(0.001)
    assert await send(world, host, 2) == ["accepted", "20"]


async def test_a_refusal_says_the_limit_and_when_to_try_again(world) -> None:
    host = world.host(SENDER)
    await send(world, host, 2)
    with pytest.raises(TooManyMessages, match=r"you may send 2 messages per minute.*try again in 60 s"):
        await world.send(host, "hello", channel="telegram")


async def test_other_senders_and_clients_are_not_limited_by_one_sender(world) -> None:
    host = world.host(SENDER)
    await send(world, host, 3)
    assert await send(world, host, 1, owner="bob") == ["accepted"]
    assert await send(world, host, 5, channel="hub") == ["accepted"] * 5


async def test_clients_have_a_limit_of_their_own(world) -> None:
    host = world.host({"Guards": {"RateLimit": {"ClientMessagesPerMinute": 1}}})
    assert await send(world, host, 2, channel="hub") == ["accepted", "60"]
    assert await send(world, host, 1) == ["accepted"]


async def test_the_limit_of_all_senders_comes_first(world) -> None:
    host = world.host({"Guards": {"RateLimit": {"AllMessagesPerMinute": 2, "MessagesPerMinute": 1}}})
    await send(world, host, 1)
    await send(world, host, 1, owner="bob")
    with pytest.raises(TooManyMessages, match="the host has got 2 messages within a minute"):
        await world.send(host, "hello", channel="telegram", owner="eve")


async def test_messages_that_come_together_cannot_exceed_the_limit(world) -> None:
    host = world.host(SENDER)
    found = await asyncio.gather(*(try_to_send(world, host) for _ in range(10)))
    assert found[:2] == ["accepted"] * 2  # in their order
    assert found.count("accepted") == 2


async def test_a_restart_keeps_the_window_of_a_sender(world, clock) -> None:
    await send(world, world.host(SENDER), 2)
    await clock.advance(10)
    assert await send(world, world.host(SENDER), 1) == ["50"]


async def test_a_message_that_is_not_accepted_does_not_count(world) -> None:
    host = world.host({**SENDER, "Queue": {"Capacity": 1}})
    await send(world, host, 1)
    for _ in range(3):
        with pytest.raises(QueueFull):
            await world.send(host, "hello", channel="telegram")


async def test_a_repeated_message_is_never_refused_and_counts_once(world) -> None:
    host = world.host(SENDER)
    await send(world, host, 3, external_id="m1")
    assert await send(world, host, 2) == ["accepted", "60"]
    assert await send(world, host, 1, external_id="m1") == ["accepted"]


async def test_what_was_sent_while_the_host_was_down_is_not_refused(world, clock) -> None:
    host = world.host(SENDER)
    assert await send(world, host, 5, sent_at=clock.now() - timedelta(seconds=61)) == ["accepted"] * 5
    assert await send(world, host, 3, sent_at=clock.now() - timedelta(seconds=60)) == ["accepted", "accepted", "60"]


def test_a_limiter_that_is_off_limits_nobody() -> None:
    settings = Settings.from_mapping({"Guards": {"RateLimit": {"Enabled": False}}})
    assert find_message_limits(settings.guards.rate_limit, "ann", "telegram") == ()
