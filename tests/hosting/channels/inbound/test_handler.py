"""What arrives while something fails or hangs: the platform has its answer, and nothing is lost or done twice."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from sophon.errors import StoreError
from sophon.testing import VirtualClock
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import (
    ButtonPress,
    ChannelAttachment,
    ChatLocation,
    InboundMessage,
    OutboundMessage,
    Person,
)
from sophon_channels.testing import DEFAULT_LOCATION, DEFAULT_PERSON, SyntheticChannel
from sophon_hosting.channels.chat_state import PROCESSED_KIND
from sophon_hosting.channels.inbound.message_merging import MessageMerger
from sophon_hosting.store.sql_host_store import SqlHostStore

GROUP = ChatLocation("-20", "group")
EVE = Person("2", "Eve")


class Silent(SyntheticChannel):
    """Never takes an acknowledgement."""

    async def acknowledge_press(self, press: ButtonPress, note: str) -> None:
        await asyncio.Event().wait()


class Picky(SyntheticChannel):
    """Cannot show one of the host's answers."""

    def render_payloads(self, message: OutboundMessage) -> list[dict[str, Any]]:
        if "/dance" in message.text:
            raise ValueError("this cannot be shown")
        return super().render_payloads(message)


def written(number: int, text: str = "", **more: Any) -> InboundMessage:
    return InboundMessage(
        f"w{number}", DEFAULT_PERSON, DEFAULT_LOCATION, text, str(number), datetime(2026, 1, 1, tzinfo=UTC), **more
    )


async def test_a_press_is_decided_though_the_platform_hangs_at_its_acknowledgement(start) -> None:
    running = await start(channel=Silent())
    await running.channel.deliver_message("pay Bob")
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))
    press = ButtonPress("p", DEFAULT_PERSON, DEFAULT_LOCATION, running.channel.sent[-1].payload["buttons"][0], "press")
    async with asyncio.timeout(30):
        await running.channel.deliver(press)
    await running.channel.wait_for_text("You said: paid Bob")


async def test_what_cannot_be_dealt_with_keeps_nothing_behind_it_from_being_heard(start) -> None:
    running = await start(channel=Picky())
    await running.channel.deliver(written(1, "/dance"), written(2, "hello"))
    await running.channel.wait_for_text("You said: hello")


async def test_stop_is_answered_while_what_it_stops_takes_its_time(start) -> None:
    running = await start()
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    cancel, hangs = running.host.cancel, asyncio.Event()

    async def slowly(task_id: str) -> Any:
        await hangs.wait()
        return await cancel(task_id)

    running.host.cancel = slowly
    await running.channel.deliver_message("/stop")
    await running.channel.wait_for_text("⏹ Stopping.")
    [run] = await running.store.runs.list()
    assert run.cancel_requested
    hangs.set()
    await running.channel.wait_for_text("⏹ Stopped.")


async def test_what_was_taken_is_not_refused_when_it_comes_again_before_a_full_queue(start) -> None:
    running = await start(capacity=1)
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    second = await running.channel.deliver_message("second")
    await running.channel.deliver(second)
    running.brain.gate.set()
    await running.channel.wait_for_text("You said: second")
    assert not any("not accepted" in text for text in running.channel.sent_texts())


async def test_messages_delivered_again_after_a_kill_that_overfills_the_queue_are_answered_once(start) -> None:
    running = await start()
    await running.host.queue.pause()
    messages = [await running.channel.deliver_message(text) for text in ("one", "two", "three")]
    await running.end()
    seen = await running.store.channel_state.list(PROCESSED_KIND)
    assert len(seen) == 3
    for note in seen:  # as if killed before these were written
        await running.store.channel_state.remove(note.channel, note.account, note.kind, note.key)
    again = await start(store=running.store, capacity=1)
    for message in messages:
        await again.channel.deliver(message)
    await again.channel.wait_for_text("You said: three")
    assert not any("not accepted" in text for text in again.channel.sent_texts())
    assert len(await again.store.runs.list()) == 3


async def test_a_stranger_gets_the_code_though_the_host_failed_before_it_was_told(start) -> None:
    running = await start(policy=AccessPolicy())
    add, failures = running.store.outbox.add, [StoreError("memory", "the disk is full")]

    async def failing(entries: Any) -> int:
        if failures:
            raise failures.pop()
        return await add(entries)

    running.store.outbox.add = failing
    message = replace(written(1, "hello"), person=EVE)
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    with pytest.raises(StoreError):
        await running.channel.deliver(message)
    await running.channel.deliver(message)
    await running.channel.wait_for_text("sophon pairing approve")


async def test_an_album_in_a_group_comes_whole_though_one_piece_names_the_bot(start) -> None:
    channel = SyntheticChannel(attachment_contents={"a": b"first", "b": b"second"})
    await start(channel=channel)
    for name, mentioned in (("a", True), ("b", False)):
        file = ChannelAttachment(name, "image", f"{name}.png")
        await channel.deliver_message(
            "look" if mentioned else "", location=GROUP, is_mention=mentioned, media_group_id="x", attachments=(file,)
        )
    said = await channel.wait_for_text("You said: look", GROUP)
    assert "1-a.png" in said
    assert "2-b.png" in said


async def test_an_album_in_a_group_that_is_not_for_the_bot_is_left_alone(start) -> None:
    running = await start()
    await running.channel.deliver_message("a cat", location=GROUP, media_group_id="x", external_id="piece")
    await running.channel.deliver_message("hello", location=GROUP, is_mention=True)
    await running.channel.wait_for_text("You said: hello", GROUP)
    while await running.store.channel_state.list("piece"):
        await asyncio.sleep(0)
    assert len(await running.store.runs.list()) == 1


async def test_a_host_that_stops_takes_nothing_more(start) -> None:
    running = await start()
    await running.channel.deliver_message("hello")
    await running.switchboard.stop_receiving()
    with pytest.raises(StoreError):
        await running.channel.deliver_message("too late")
    assert len(await running.store.runs.list()) == 1


class Desk:
    """Albums before somebody who takes them, or not yet."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = SqlHostStore("memory://", clock=self.clock)
        self.albums = MessageMerger(SyntheticChannel(), self.store, self.clock, self._accept)
        self.taken: list[tuple[str, str]] = []
        self.failures: list[Exception] = []
        self.begun, self.gate = asyncio.Event(), asyncio.Event()
        self.gate.set()

    async def rest(self) -> None:
        """Until nothing waits."""
        async with asyncio.timeout(30):
            while await self.store.channel_state.list("piece"):
                await self.clock.sleep(0.1)

    async def _accept(self, whole: InboundMessage, _: object) -> None:
        self.begun.set()
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop()
        self.taken.append((whole.external_id, whole.text))


async def test_a_piece_that_comes_while_its_album_is_taken_is_not_left_behind() -> None:
    desk = Desk()
    desk.gate.clear()
    await desk.albums.add_pieces([written(1, "one", media_group_id="x")])
    await desk.begun.wait()
    await desk.albums.add_pieces([written(2, "two", media_group_id="x")])
    desk.gate.set()
    await desk.rest()
    assert desk.taken == [("w1", "one"), ("w2", "two")]


async def test_an_album_that_could_not_be_taken_is_tried_again() -> None:
    desk = Desk()
    desk.failures.append(StoreError("memory", "the disk is full"))
    await desk.albums.add_pieces([written(1, "one", media_group_id="x")])
    await desk.rest()
    assert desk.taken == [("w1", "one")]


async def test_a_repeat_that_comes_while_its_album_is_taken_is_no_second_message() -> None:
    desk = Desk()
    pieces = [written(number, f"text {number}", media_group_id="x") for number in (1, 2)]
    for piece in pieces:
        await desk.albums.add_pieces([piece])
    await desk.rest()
    await desk.albums.add_pieces([pieces[1]])
    await desk.rest()
    assert desk.taken == [("w1", "text 1\ntext 2")]


async def test_pieces_in_two_chats_are_two_albums() -> None:
    desk = Desk()
    await desk.albums.add_pieces([written(1, "one", media_group_id="x")])
    await desk.albums.add_pieces([replace(written(2, "two", media_group_id="x"), location=ChatLocation("66"))])
    await desk.rest()
    assert sorted(desk.taken) == [("w1", "one"), ("w2", "two")]


async def test_pieces_that_come_slowly_one_after_another_are_one_album() -> None:
    desk = Desk()
    for number in range(1, 8):
        await desk.albums.add_pieces([written(number, str(number), media_group_id="x")])
        await desk.clock.sleep(0.15)
    await desk.rest()
    assert desk.taken == [("w1", "1\n2\n3\n4\n5\n6\n7")]


async def test_an_album_that_never_ends_is_taken_after_some_seconds() -> None:
    desk = Desk()
    for number in range(1, 40):
        await desk.albums.add_pieces([written(number, str(number), media_group_id="x")] if number % 5 == 1 else [])
        await desk.clock.sleep(0.2)
    assert desk.begun.is_set()
    await desk.rest()
    assert sum(len(text.split()) for _, text in desk.taken) == 8


async def test_a_full_album_is_not_waited_for() -> None:
    desk = Desk()
    await desk.albums.add_pieces([written(number, str(number), media_group_id="x") for number in range(1, 11)])
    started_at = desk.clock.monotonic()
    await desk.rest()
    assert len(desk.taken) == 1
    assert desk.clock.monotonic() - started_at <= 0.2
