"""Edits: before its turn begins the new text replaces the old one, afterwards it is a turn that says what it is."""

from dataclasses import replace
from typing import Any

import pytest

from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ChatLocation, InboundMessage, MessageEdited, Person
from sophon_hosting.channels.inbound.handler import EDITED_COMMAND_MESSAGE
from sophon_hosting.channels.inbound.turn_text import EDITED_NOTE
from sophon_hosting.store.runs.contract import InboundKey, OutdatedRun

GROUP = ChatLocation("-5", "group")


def edited(message: InboundMessage, text: str, name: str = "e1") -> MessageEdited:
    return MessageEdited(name, replace(message, text=text))


async def texts_of_runs(running: Any) -> list[str]:
    return [run.text for run in reversed(await running.store.runs.list())]


async def test_an_edit_replaces_the_text_of_a_turn_that_waits(start: Any) -> None:
    running = await start()
    await running.host.queue.pause()
    message = await running.channel.deliver_message("teh")
    await running.channel.deliver_message("second")
    edit = edited(message, "the")
    for _ in range(3):  # however often it is delivered
        await running.channel.deliver(edit)
    await running.host.queue.resume()
    await running.channel.wait_for_text("You said: second")
    answers = [text for text in running.channel.sent_texts() if text.startswith("You said")]
    assert answers == ["You said: the", "You said: second"]
    assert await running.texts("synthetic-10") == ["the", "second"]


async def test_an_edit_after_the_turn_has_begun_is_a_turn_that_says_so(start: Any) -> None:
    running = await start()
    message = await running.channel.deliver_message("teh")
    await running.channel.wait_for_text("You said: teh")
    edit = edited(message, "the")
    await running.channel.deliver(edit, edit)
    await running.channel.wait_for_text(f"You said: {EDITED_NOTE}\nthe")
    assert len(await running.store.runs.list()) == 2


async def test_a_second_edit_replaces_the_first_while_that_waits(start: Any) -> None:
    running = await start()
    message = await running.channel.deliver_message("teh")
    await running.channel.wait_for_text("You said: teh")
    await running.host.queue.pause()
    await running.channel.deliver(edited(message, "th", "e1"), edited(message, "the", "e2"))
    assert await texts_of_runs(running) == ["teh", f"{EDITED_NOTE}\nthe"]


async def test_an_edit_that_leaves_the_text_has_no_effect(start: Any) -> None:
    running = await start()
    message = await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("You said: hello")
    await running.channel.deliver(edited(message, "hello "))
    assert await texts_of_runs(running) == ["hello"]


async def test_an_edit_over_a_restart_replaces_what_was_stored_before(start: Any) -> None:
    first = await start()
    await first.host.queue.pause()
    message = await first.channel.deliver_message("teh")
    await first.end()
    again = await start(store=first.store)
    await again.host.queue.pause()
    await again.channel.deliver(edited(message, "the"))
    assert [text[-3:] for text in await texts_of_runs(again)][-1] == "the"


@pytest.mark.parametrize("debounce_seconds", [0.0, 20.0])
async def test_an_edited_piece_replaces_its_part_of_the_message(start: Any, debounce_seconds: float) -> None:
    running = await start(debounce_seconds=debounce_seconds)
    group = None if debounce_seconds else "album"
    await running.host.queue.pause()
    one = await running.channel.deliver_message("one", media_group_id=group)
    await running.channel.deliver_message("tow", media_group_id=group, external_id="w2")
    two = replace(one, external_id="w2", message_id="2")
    await running.channel.deliver(edited(two, "two"))  # while it waits for more
    await running.channel.deliver_message("/status")  # passes on what waits
    if not debounce_seconds:
        await wait_for_runs(running, 1)
    assert await texts_of_runs(running) == ["one\ntwo"]
    await running.channel.deliver(edited(one, "first", "e2"), edited(two, "second", "e3"))
    assert await texts_of_runs(running) == ["first\nsecond"]


async def wait_for_runs(running: Any, count: int) -> None:
    clock = running.host.services.clock
    while len(await running.store.runs.list()) < count:
        await clock.sleep(0.05)


async def test_a_command_is_not_executed_by_an_edit(start: Any) -> None:
    running = await start()
    message = await running.channel.deliver_message("new")
    await running.channel.wait_for_text("You said: new")
    await running.channel.deliver(edited(message, "/new"))
    await running.channel.wait_for_text(EDITED_COMMAND_MESSAGE)
    await running.channel.deliver_message("after")
    await running.channel.wait_for_text("You said: after")
    assert await running.texts("synthetic-10") == ["new", "after"]


async def test_whoever_may_not_write_edits_nothing(start: Any) -> None:
    running = await start(policy=AccessPolicy(allow_from=frozenset({"1"}), direct_policy="AllowList"))
    await running.host.queue.pause()
    message = await running.channel.deliver_message("pay 1")
    foreign = replace(message, person=Person("666", "Mallory"))
    await running.channel.deliver(edited(foreign, "pay 666"))
    assert await texts_of_runs(running) == ["pay 1"]


async def test_somebody_else_in_the_group_does_not_change_what_i_wrote(start: Any) -> None:
    running = await start()
    await running.host.queue.pause()
    message = await running.channel.deliver_message("mine", location=GROUP, is_mention=True)
    await running.channel.deliver(edited(replace(message, person=Person("9", "Bob")), "his"))
    assert (await texts_of_runs(running))[0] == "mine"


async def test_a_mention_that_is_added_to_a_new_message_makes_it_one_and_an_old_one_stays_ignored(start: Any) -> None:
    running = await start()
    clock = running.host.services.clock
    ignored = await running.channel.deliver_message("hello", location=GROUP)
    await running.channel.deliver(edited(replace(ignored, is_mention=True), "old"))
    await running.channel.deliver(edited(replace(ignored, is_mention=True, sent_at=clock.now()), "hello you", "e2"))
    await running.channel.wait_for_text("You said: hello you", GROUP)
    assert await texts_of_runs(running) == ["hello you"]


async def test_a_worker_that_has_read_the_old_text_begins_with_the_new_one(start: Any) -> None:
    """The store refuses to begin a turn with a text that was replaced after the worker had read it."""
    running = await start()
    begin, key = running.store.runs.begin, InboundKey("synthetic", "bot", "w1")
    refused: list[str] = []

    async def replace_first(run_id: str, *arguments: Any, **named: Any) -> Any:
        if not refused:
            message = InboundMessage("w1", Person("1", "Ada"), ChatLocation("10"), "teh", "1", clock.now())
            await running.channel.deliver(edited(message, "the"))
        try:
            return await begin(run_id, *arguments, **named)
        except OutdatedRun:
            refused.append(run_id)
            raise

    clock = running.host.services.clock
    running.store.runs.begin = replace_first
    await running.channel.deliver_message("teh", external_id="w1")
    await running.channel.wait_for_text("You said: the")
    run = await running.store.runs.find_by_key(key)
    assert refused == [run.id]
    assert running.channel.sent_texts() == ["You said: the"]
