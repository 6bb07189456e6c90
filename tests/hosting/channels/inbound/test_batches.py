"""Events that arrive together: stored together, in order, each once; and what a full queue refuses is told once."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from sophon.errors import StoreError
from sophon.stores.contract import Store
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ButtonPress, ChatLocation, InboundMessage, Person
from sophon_channels.testing import DEFAULT_LOCATION, DEFAULT_PERSON, SyntheticChannel
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE

OPEN = AccessPolicy(direct_policy="Open")


def written(number: int, chat: str = "10", text: str = "") -> InboundMessage:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    person = Person(chat, "Ada", user_id=f"U.{chat}", number=chat)
    return InboundMessage(f"w{number}", person, ChatLocation(chat), text or f"text {number}", f"{number}", at)


@pytest.fixture
async def store(tmp_path: Path) -> Store:
    return host_store_from_url(SQLITE, folder=tmp_path)


async def test_a_thousand_messages_are_stored_in_few_transactions_before_they_are_confirmed(
    start: Any, store: SqlHostStore
) -> None:
    running = await start(store=store, policy=OPEN, capacity=2000)
    await running.host.queue.pause()
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    commits: list[object] = []
    event.listen(store._database._write_engine, "commit", commits.append)
    # Those of different chats share transactions; those of one chat follow each other.
    await running.channel.deliver(*(written(number, chat=str(number % 50)) for number in range(1000)))
    runs = await store.runs.list(limit=2000)
    assert len(runs) == 1000
    assert len(commits) < 60
    for chat in range(50):
        mine = [run.text for run in reversed(runs) if run.origin["chat"] == str(chat)]
        assert mine == [f"text {number}" for number in range(1000) if number % 50 == chat]


async def test_a_batch_that_is_delivered_again_or_repeats_itself_is_answered_once(start: Any) -> None:
    running = await start(policy=OPEN)
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    batch = [written(number, chat=str(number % 3)) for number in range(9)]
    await running.channel.deliver(*batch, *batch)
    await running.channel.deliver(*reversed(batch), written(9))
    assert len(await running.store.runs.list(limit=100)) == 10


async def test_a_batch_of_which_one_write_fails_is_delivered_again_and_loses_nothing(start: Any) -> None:
    running = await start(policy=OPEN)
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    accept, failures = running.host.accept, [StoreError("memory", "the disk is full")]

    async def failing(request: Any) -> Any:
        if failures and request.external_id == "w3":
            raise failures.pop()
        return await accept(request)

    running.host.accept = failing
    batch = [written(number) for number in range(6)]
    with pytest.raises(StoreError):
        await running.channel.deliver(*batch)
    await running.channel.deliver(*batch)
    assert sorted(run.text for run in await running.store.runs.list()) == [f"text {number}" for number in range(6)]


async def test_commands_between_messages_keep_their_place(start: Any) -> None:
    running = await start(policy=OPEN)
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    await running.channel.deliver(written(1, text="before"), written(2, text="/new"), written(3, text="after"))
    before, after = [run.session_id for run in reversed(await running.store.runs.list())]
    assert (before, after.startswith(f"{before}~")) == ("synthetic-10", True)


async def test_what_is_refused_in_the_later_parts_of_a_large_batch_is_counted_in_the_one_notice(start: Any) -> None:
    running = await start(policy=OPEN, capacity=2)
    await running.host.queue.pause()
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    await running.channel.deliver(*(written(number) for number in range(450)))
    accepted = len(await running.store.runs.list(limit=1000))
    await running.channel.wait_for_text(f"{450 - accepted} ", ChatLocation("10"))
    assert sum("not accepted" in text for text in running.channel.sent_texts()) == 1


async def test_what_a_full_queue_refuses_of_a_batch_is_told_once_per_chat_with_its_number(start: Any) -> None:
    running = await start(policy=OPEN, capacity=2)
    await running.host.queue.pause()
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    await running.channel.deliver(*(written(number, chat=str(number % 2)) for number in range(8)))
    for chat in ("0", "1"):
        location = ChatLocation(chat)
        assert "3 of your messages were not accepted" in await running.channel.wait_for_text("not accepted", location)
        assert len(running.channel.sent_texts(location)) == 1
    assert len(await running.store.runs.list()) == 2


async def test_a_burst_that_idle_workers_take_at_once_is_not_told_that_it_waits(start: Any) -> None:
    running = await start(policy=OPEN, AgentExecution={"MaxConcurrentTasks": 10, "Titles": False})
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    await running.channel.deliver(*(written(number, chat=str(number)) for number in range(7)))
    await running.channel.wait_until(lambda: len(running.channel.sent) == 7)
    notices = running.switchboard._connected["synthetic"].inbound._acceptor._queue_notices
    await asyncio.gather(*notices._tasks)
    assert not any("Queued" in entry.payload["text"] for entry in running.channel.sent)


async def test_a_chat_that_waits_is_told_once_for_messages_that_arrived_together(start: Any) -> None:
    running = await start(policy=OPEN)
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    await running.channel.deliver(written(1, chat="1", text="wait"))
    await running.brain.reached.wait()
    await running.channel.deliver(*(written(number, chat="2") for number in range(2, 6)))
    await running.channel.wait_for_text("Queued", ChatLocation("2"))
    running.brain.gate.set()
    await running.channel.wait_for_text("You said: text 5", ChatLocation("2"))
    assert sum("Queued" in text for text in running.channel.sent_texts(ChatLocation("2"))) == 1


async def test_a_redelivered_press_says_what_was_decided_and_every_press_is_answered_once(start: Any) -> None:
    running = await start()
    await running.channel.deliver_message("pay Bob")
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))
    data = running.channel.sent[-1].payload["buttons"][0]
    press = ButtonPress("p1", DEFAULT_PERSON, DEFAULT_LOCATION, data, "press1")
    await running.channel.deliver(press)
    await running.channel.wait_for_text("You said: paid Bob")
    await running.end()
    again = await start(store=running.store, channel=SyntheticChannel())
    await again.channel.wait_until(lambda: again.channel.health.state == "running")
    await again.channel.deliver(press, replace(press, external_id="p2", press_id="press2"))
    await again.channel.wait_until(lambda: len(again.channel.press_notes) == 2)
    assert [press_id for press_id, _ in again.channel.press_notes] == ["press1", "press2"]
    assert all(note.startswith("already approved by Ada at ") for _, note in again.channel.press_notes)
    assert running.brain.paid == ["Bob"]


async def test_three_hundred_presses_at_once_are_all_answered(start: Any) -> None:
    channel = SyntheticChannel()
    await start(channel=channel)
    await channel.wait_until(lambda: channel.health.state == "running")
    gate = asyncio.Event()
    acknowledge = channel.acknowledge_press

    async def slow(press: ButtonPress, note: str) -> None:
        await gate.wait()
        await acknowledge(press, note)

    channel.acknowledge_press = slow  # type: ignore[method-assign]
    presses = [ButtonPress(f"p{n}", DEFAULT_PERSON, DEFAULT_LOCATION, "ap:7Q4K2M9X:once", f"{n}") for n in range(300)]
    await channel.deliver(*presses)
    gate.set()
    await channel.wait_until(lambda: len(channel.press_notes) == 300)
    assert len({press_id for press_id, _ in channel.press_notes}) == 300


async def test_a_press_that_fails_is_answered_too(start: Any) -> None:
    running = await start()
    await running.channel.wait_until(lambda: running.channel.health.state == "running")

    async def failing(press: ButtonPress) -> str:
        raise RuntimeError("nobody foresaw this")

    running.switchboard._connected["synthetic"].approval_prompts.decide_by_press = failing
    assert "did not work" in await running.channel.deliver_press("ap:7Q4K2M9X:once")


async def test_a_flood_of_one_person_is_told_once_and_others_are_answered(start: Any) -> None:
    running = await start(policy=OPEN, capacity=2000, Guards={"RateLimit": {"MessagesPerMinute": 2}})
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    now = running.host.services.clock.now()
    flood = [replace(written(number), sent_at=now) for number in range(6)]
    await running.channel.deliver(*flood, replace(written(9, chat="11"), sent_at=now))
    notice = await running.channel.wait_for_text("not accepted", ChatLocation("10"))
    assert notice.startswith("🚦 You may send 2 messages per minute, and 4 of your messages were not accepted.")
    await running.channel.deliver(replace(written(7), sent_at=now))
    await running.channel.wait_for_text("You said: text 1", ChatLocation("10"))
    await running.channel.wait_for_text("You said: text 9", ChatLocation("11"))
    assert sum("not accepted" in text for text in running.channel.sent_texts()) == 1
    assert await running.texts("synthetic-10") == ["text 0", "text 1"]
