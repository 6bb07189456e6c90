"""Quick messages: texts of a person that follow each other become one message, in order, none lost and none twice."""

from typing import Any

from sophon_channels.contract import ChannelAttachment, ChatLocation, Person
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.inbound import message_merging

LONG = 30.0
"""Seconds that no test waits for."""


async def texts_of_runs(running: Any) -> list[str]:
    return [run.text for run in reversed(await running.store.runs.list())]


async def test_quick_messages_are_one_message_and_the_answer_replies_to_the_last(start: Any) -> None:
    running = await start(debounce_seconds=0.05)
    for text in ("one", "two", "three"):
        last = await running.channel.deliver_message(text)
    await running.channel.wait_for_text("You said: one\ntwo\nthree")
    assert running.channel.sent[-1].payload["reply_to"] == last.message_id
    assert len(await running.store.runs.list()) == 1


async def test_a_message_that_is_delivered_again_is_in_it_once(start: Any) -> None:
    running = await start(debounce_seconds=LONG)
    one = await running.channel.deliver_message("one")
    await running.channel.deliver_message("two")
    await running.channel.deliver(one, one)
    await running.channel.deliver_message("/status")
    await running.channel.deliver(one)
    await running.channel.deliver_message("/status")
    assert await texts_of_runs(running) == ["one\ntwo"]


async def test_what_is_not_joined_does_not_overtake_what_is(start: Any) -> None:
    running = await start(channel=SyntheticChannel(attachment_contents={"f": b"x"}), debounce_seconds=LONG)
    await running.host.queue.pause()
    await running.channel.deliver_message("one")
    await running.channel.deliver_message("two")
    await running.channel.deliver_message("see", attachments=(ChannelAttachment("f", "document", "a.txt"),))
    await running.channel.deliver_message("three")
    await running.channel.deliver_message("forwarded", is_forwarded=True)
    assert [text.splitlines()[0] for text in await texts_of_runs(running)] == [
        "one",
        "see",
        "three",
        "(forwarded message)",
    ]


async def test_a_command_comes_after_what_was_written_before_it(start: Any) -> None:
    running = await start(debounce_seconds=LONG)
    await running.channel.deliver_message("before")
    await running.channel.deliver_message("/new")
    await running.channel.deliver_message("after")
    await running.channel.deliver_message("/status")
    assert await running.texts("synthetic-10") == ["before"]
    [before, after] = reversed(await running.store.runs.list())
    assert (before.text, after.text) == ("before", "after")
    assert before.session_id != after.session_id


async def test_people_and_chats_are_not_mixed(start: Any) -> None:
    running = await start(debounce_seconds=0.05)
    group, bob = ChatLocation("-5", "group"), Person("9", "Bob")
    await running.channel.deliver_message("ada", location=group, is_mention=True)
    await running.channel.deliver_message("bob", location=group, is_mention=True, person=bob)
    await running.channel.deliver_message("elsewhere")
    for text, place in (("ada", group), ("bob", group), ("elsewhere", ChatLocation("10"))):
        await running.channel.wait_for_text(f"You said: {text}", place)
    assert sorted(await texts_of_runs(running)) == ["ada", "bob", "elsewhere"]


async def test_many_messages_are_cut_at_the_limit(start: Any) -> None:
    running = await start(debounce_seconds=LONG)
    for number in range(message_merging.MAX_QUICK_MESSAGES):
        await running.channel.deliver_message(str(number))
    await running.channel.wait_for_text("You said: 0\n1\n2")


async def test_what_waits_when_the_host_ends_is_answered_by_the_next_one(start: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(message_merging, "RESUMED_GATHER_SECONDS", 0.05)
    first = await start(debounce_seconds=LONG)
    await first.channel.deliver_message("one")
    await first.channel.deliver_message("two")
    await first.end()
    assert await first.store.runs.list() == []
    again = await start(store=first.store, debounce_seconds=0.05)
    await again.channel.wait_for_text("You said: one\ntwo")
    assert len(await again.store.runs.list()) == 1
