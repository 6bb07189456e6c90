"""`/otr` in a chat: what is said is answered and stored nowhere, and never taken for a message on the record."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sophon.errors import StateError
from sophon_channels.contract import ChannelAttachment, ChatLocation, MessageEdited
from sophon_channels.testing import DEFAULT_LOCATION
from sophon_hosting.observability.log_context import LogContextFilter
from sophon_hosting.store.factory import host_store_from_url

SECRET = "xylophone-4711"
GROUP = ChatLocation("-20", "group")


async def say(running: Any, text: str) -> str:
    """Return what a message is answered with."""
    before = len(running.channel.sent)
    await running.channel.deliver_message(text)
    await running.channel.wait_until(lambda: len(running.channel.sent) > before)
    return str(running.channel.sent[-1].payload["text"])


def all_bytes(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file())


async def test_what_is_said_is_answered_and_not_stored(start: Any, tmp_path: Path) -> None:
    store = host_store_from_url("sqlite:///kept.db", folder=tmp_path)
    running = await start(off_the_record=True, store=store)
    assert await say(running, "kept before") == "You said: kept before"
    assert (await running.answer("/otr")).startswith("🔒 Off the record until /new")
    assert await say(running, SECRET) == f"You said: {SECRET}"
    assert await say(running, "more") == "You said: more"
    off = running.host.off_the_record.services.store
    [session] = await off.sessions.list()
    records = await off.sessions.list_records(session.id)
    assert [each.message.content for each in records if each.message.role == "user"] == [SECRET, "more"]
    assert "new conversation" in await running.answer("/new")
    assert await say(running, "kept after") == "You said: kept after"
    assert await off.sessions.list() == []
    sessions = [await running.texts(each.id) for each in await running.store.sessions.list()]
    assert sorted(sessions) == [["kept after"], ["kept before"]]
    await running.end()
    await store.close()
    content = all_bytes(tmp_path)
    assert b"kept before" in content
    assert SECRET.encode() not in content


async def test_after_a_restart_a_message_is_neither_read_nor_stored(start: Any) -> None:
    first = await start(off_the_record=True)
    await first.answer("/otr")
    await first.end()
    running = await start(off_the_record=True, store=first.store)
    await running.channel.deliver_message(SECRET, external_id="later")
    await running.channel.wait_for_text("🔒 The conversation off the record has ended")
    assert await running.store.sessions.list() == []
    await running.channel.deliver_message("/otr", external_id="order")
    await running.channel.wait_for_text("Off the record until")
    assert await say(running, "again") == "You said: again"


async def test_a_redelivered_message_is_answered_once(start: Any) -> None:
    running = await start(off_the_record=True)
    await running.answer("/otr")
    message = await running.channel.deliver_message("once")
    await running.channel.wait_for_text("You said: once")
    await running.channel.deliver(message)
    assert await say(running, "twice") == "You said: twice"
    assert sum("once" in text for text in running.channel.sent_texts()) == 1


async def test_tools_only_read_and_nobody_is_asked(start: Any) -> None:
    running = await start(off_the_record=True, guarded=True, Approval={"Questions": True})
    await running.answer("/otr")
    assert "tools only read; pay may not run" in await say(running, "pay Bo")
    assert running.brain.paid == []
    assert "nobody can be asked" in await say(running, "question Which, for chat.ask?")


async def test_files_and_edits_are_not_read(start: Any) -> None:
    running = await start(off_the_record=True)
    await running.answer("/otr")
    file = ChannelAttachment("f", "document", "a.txt")
    before = len(running.channel.sent)
    message = await running.channel.deliver_message("look", attachments=(file,))
    await running.channel.wait_until(lambda: len(running.channel.sent) > before)
    assert "I read text only" in str(running.channel.sent[-1].payload["text"])
    before = len(running.channel.sent)
    await running.channel.deliver(MessageEdited("edit-1", message))
    await running.channel.wait_until(lambda: len(running.channel.sent) > before)
    assert "an edit is not read" in str(running.channel.sent[-1].payload["text"])
    assert await running.store.sessions.list() == []


async def test_commands_about_the_kept_conversation_wait_for_its_return(start: Any) -> None:
    running = await start(off_the_record=True)
    await say(running, "kept")
    await running.answer("/otr")
    for command in ("/retry", "/last", "/usage"):
        assert await running.answer(command) == "This is about the kept conversation: /new goes back to it."
    assert await running.answer("/status") == "🔒 Off the record. Nothing is running."
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    assert await running.answer("/stop") == "⏹ Stopped."
    assert await running.answer("/stop") == "Nothing is running."


async def test_a_chat_shows_that_an_answer_is_being_written(start: Any) -> None:
    running = await start(off_the_record=True)
    await running.answer("/otr")
    await running.channel.deliver_message("wait")
    await running.channel.wait_until(lambda: running.channel.typing_chats == [DEFAULT_LOCATION.key])
    running.brain.gate.set()
    await running.channel.wait_for_text("You said: wait")


def hold_cancellations(host: Any) -> asyncio.Event:
    """Have tasks stop only once the event is set."""
    cancel, may_stop = host.cancel, asyncio.Event()

    async def slowly(task_id: str) -> Any:
        await may_stop.wait()
        return await cancel(task_id)

    host.cancel = slowly
    return may_stop


async def test_stop_is_answered_while_what_it_stops_takes_its_time(start: Any) -> None:
    running = await start(off_the_record=True)
    await running.answer("/otr")
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    may_stop = hold_cancellations(running.host.off_the_record)
    assert await running.answer("/stop") == "⏹ Stopping."
    may_stop.set()
    await running.channel.wait_for_text("⏹ Stopped.")


async def test_the_log_does_not_say_which_task_could_not_be_stopped(
    start: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caplog.handler, "filters", [LogContextFilter()])
    running = await start(off_the_record=True)
    await running.answer("/otr")
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()

    async def fail(task_id: str) -> Any:
        raise StateError(f"no end of {task_id}")

    running.host.off_the_record.cancel = fail
    assert await running.answer("/stop") == "⏹ Stopping."
    [logged] = [each.getMessage() for each in caplog.records if "could not be stopped" in each.getMessage()]
    assert "no end of" not in logged


async def test_the_kept_conversation_goes_on_while_what_was_off_the_record_still_stops(start: Any) -> None:
    running = await start(off_the_record=True)
    off = running.host.off_the_record
    await running.answer("/otr")
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    delete, may_stop = off.delete_session, hold_cancellations(off)

    async def slowly(session_id: str) -> None:
        await may_stop.wait()
        await delete(session_id)

    off.delete_session = slowly
    assert "new conversation" in await running.answer("/new")
    assert await say(running, "kept") == "You said: kept"
    assert len(await off.services.store.sessions.list()) == 1
    may_stop.set()
    await running.end()
    assert await off.services.store.sessions.list() == []


async def test_a_group_and_a_host_without_it_say_so(start: Any) -> None:
    running = await start(off_the_record=True)
    await running.channel.deliver_message("/otr", location=GROUP, is_mention=True)
    await running.channel.wait_until(
        lambda: any("Write to me directly" in text for text in running.channel.sent_texts(GROUP))
    )
    without = await start()
    assert "no conversations off the record" in await without.answer("/otr")


async def test_a_person_has_so_many_at_once(start: Any) -> None:
    running = await start(off_the_record=True)
    for number in range(8):
        await running.channel.deliver_message("/otr", location=ChatLocation(f"1{number}"))
    place = ChatLocation("99")
    await running.channel.deliver_message("/otr", location=place)
    await running.channel.wait_until(
        lambda: any("too many conversations" in t for t in running.channel.sent_texts(place))
    )
    await running.channel.deliver_message("kept here", location=place)
    await running.channel.wait_until(lambda: any("You said: kept here" in t for t in running.channel.sent_texts(place)))
