"""Answers that wait for a closed window: told once, kept over a restart, and sent with the next message."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from sophon_channels.contract import BeforeRequest, SendDeferred, SendResult, SendUndeliverable, before_no_request
from sophon_channels.outbound_entry import OutboundEntry, OutboundStatus
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.channels.outbound.test_undelivered_answers import events_of

CLOSED = SendUndeliverable("131047", is_chat_gone=True, is_window_closed=True)
HELD = SendDeferred("429", timedelta(hours=1))


class Windowed(SyntheticChannel):
    """A channel with a message for closed windows."""

    is_closed = False

    async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
        if self.is_closed and entry.kind != "reopening":
            return CLOSED
        return await super().send(entry, before_request)

    def render_reopening(self, beginning: str) -> dict[str, Any] | None:
        return {"text": f"[template] {beginning}"}


async def wait_for(running: Any, status: OutboundStatus, count: int = 1) -> Sequence[OutboundEntry]:
    async with asyncio.timeout(30):
        while len(found := await running.store.outbox.list(status=status)) < count:
            await asyncio.sleep(0)
    return list(found)


async def test_an_answer_is_told_and_comes_with_the_next_message(start: Any) -> None:
    running = await start(channel=Windowed())
    running.channel.send_results.append(CLOSED)
    await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("[template] You said: hello")
    [dead] = await wait_for(running, "dead")
    assert dead.dead_reason == "window_closed"
    [event] = await events_of(running, "synthetic-10")
    assert event["reason"] == "window_closed"
    await running.channel.deliver_message("back")
    await running.channel.wait_for_text("You said: back")
    assert running.channel.sent_texts()[1:] == ["You said: hello", "You said: back"]
    assert await running.store.outbox.count_dead() == 0


async def test_what_was_not_told_yet_is_not_told_after_the_person_has_written(start: Any) -> None:
    running = await start(channel=Windowed())
    running.channel.send_results.extend([CLOSED, HELD])
    await running.channel.deliver_message("hello")
    await wait_for(running, "refused")
    await running.channel.deliver_message("back")
    await running.channel.wait_for_text("You said: back")
    assert running.channel.sent_texts() == ["You said: hello", "You said: back"]
    [withdrawn] = await wait_for(running, "withdrawn")
    assert withdrawn.kind == "reopening"


async def test_several_answers_are_told_once(start: Any) -> None:
    running = await start(channel=Windowed())
    running.channel.is_closed = True
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    await running.channel.deliver_message("hello")  # written before the first answer is refused
    running.brain.gate.set()
    await wait_for(running, "dead", 2)
    await running.channel.wait_for_text("[template]")
    running.channel.is_closed = False
    await running.channel.deliver_message("back")
    await running.channel.wait_for_text("You said: back")
    texts = running.channel.sent_texts()
    assert (texts[0][:10], texts[1:]) == ("[template]", ["You said: wait", "You said: hello", "You said: back"])


async def test_after_a_restart_it_is_told_and_kept(start: Any, tmp_path: Path) -> None:
    store = SqlHostStore(f"sqlite:///{tmp_path / 'window.db'}")
    await store.open()
    running = await start(store=store, channel=Windowed())
    running.channel.send_results.extend([CLOSED, HELD])
    await running.channel.deliver_message("hello")
    await wait_for(running, "refused")
    await running.end()
    again = await start(store=store, channel=Windowed())
    await again.channel.wait_for_text("[template] You said: hello")
    await again.channel.deliver_message("back", external_id="second")
    await again.channel.wait_for_text("You said: back")
    assert again.channel.sent_texts()[1:] == ["You said: hello", "You said: back"]
    await again.end()
    await store.close()


async def test_an_answer_is_never_given_up_before_what_tells_of_it_is_stored(start: Any) -> None:
    """So that a host that is killed in between tells the person of the answer all the same."""
    running = await start(channel=Windowed())
    outbox = running.store.outbox
    give_up = outbox.give_up
    kinds: list[str] = []

    async def record_kinds(*args: Any, **fields: Any) -> Any:
        kinds.extend(entry.kind for entry in await outbox.list())
        return await give_up(*args, **fields)

    outbox.give_up = record_kinds
    running.channel.send_results.append(CLOSED)
    await running.channel.deliver_message("hello")
    await wait_for(running, "dead")
    assert "reopening" in kinds


async def test_without_such_a_message_the_chat_is_told_of_last(start: Any) -> None:
    running = await start()
    running.channel.send_results.append(CLOSED)
    await running.channel.deliver_message("hello")
    [dead] = await wait_for(running, "dead")
    assert dead.dead_reason == "chat_gone"
    await running.channel.deliver_message("back")
    await running.channel.wait_for_text("/last sends it again")
