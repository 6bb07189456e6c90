"""Messages that cannot be read: a sentence in the chat, seldom, and only for those who may write here."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sophon.testing import VirtualClock
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ChatLocation, InboundMessage, Person, SharedText
from sophon_channels.message_kind_treatments import format_unreadable_notice
from sophon_channels.testing import DEFAULT_LOCATION, DEFAULT_PERSON
from sophon_hosting.channels.inbound.turn_text import UNREADABLE_NOTE
from sophon_hosting.channels.inbound.unreadable_notices import NOTICE_INTERVAL, UnreadableNotices

NOTICE = format_unreadable_notice("stories")
GROUP = ChatLocation("-20", "group")


async def test_a_message_that_cannot_be_read_is_answered_with_a_sentence_and_starts_no_turn(start) -> None:
    running = await start()
    await running.channel.deliver_message("", unreadable="stories")
    assert await running.channel.wait_for_text("stories") == "I cannot read stories yet; please write it as text."
    assert await running.store.runs.list() == []


async def test_a_chat_gets_one_sentence_per_kind_in_a_while(start) -> None:
    running = await start()
    for kind in ("stories", "gifts", "stories", "gifts"):
        await running.channel.deliver_message("", unreadable=kind)
    await running.channel.deliver_message("and now")
    await running.channel.wait_for_text("You said: and now")
    assert running.channel.sent_texts()[:-1] == [NOTICE, format_unreadable_notice("gifts")]


async def test_after_a_while_the_sentence_comes_again() -> None:
    clock = VirtualClock()
    written: list[str] = []

    class Writer:
        async def write_reply(self, location: Any, person: Any, name: str, *rest: Any) -> None:
            written.append(name)

    notices = UnreadableNotices(Writer(), clock)  # type: ignore[arg-type] # only what is used
    at = datetime(2026, 1, 1, tzinfo=UTC)
    message = InboundMessage("w1", DEFAULT_PERSON, DEFAULT_LOCATION, "", "1", at, unreadable="stories")
    await notices.send(message, "a")
    await clock.sleep((NOTICE_INTERVAL - timedelta(seconds=1)).total_seconds())
    await notices.send(message, "b")
    await clock.sleep(1)
    await notices.send(message, "c")
    assert written == ["a", "c"]


async def test_a_stranger_gets_no_sentence(start) -> None:
    running = await start(policy=AccessPolicy(direct_policy="AllowList"))
    await running.channel.deliver_message("", unreadable="stories", person=Person("2", "Eve"))
    assert await running.store.outbox.list() == []


@pytest.mark.parametrize(("mention", "count"), [(False, 0), (True, 1)])
async def test_a_group_gets_the_sentence_only_if_the_bot_is_addressed(start, mention: bool, count: int) -> None:
    policy = AccessPolicy(allow_from=frozenset({"1"}), group_policy="All", allowed_groups=frozenset({"-20"}))
    running = await start(policy=policy)
    await running.channel.deliver_message("", unreadable="stories", location=GROUP, is_mention=mention)
    await running.channel.deliver_message("hello", location=GROUP, is_mention=True)
    await running.channel.wait_for_text("You said: hello", GROUP)
    assert running.channel.sent_texts(GROUP).count(NOTICE) == count


async def test_a_caption_of_unreadable_content_is_read_with_a_note(start) -> None:
    running = await start()
    await running.channel.deliver_message("look", unreadable="paid media")
    said = await running.channel.wait_for_text("You said: look")
    assert UNREADABLE_NOTE.format(kind="paid media") in said


async def test_a_redelivered_message_is_answered_once(start) -> None:
    running = await start()
    message = await running.channel.deliver_message("", unreadable="stories")
    await running.channel.wait_for_text("stories")
    await running.channel.deliver(message)
    await running.channel.deliver_message("end")
    await running.channel.wait_for_text("You said: end")
    assert running.channel.sent_texts().count(NOTICE) == 1


async def test_a_shared_contact_alone_starts_a_turn(start) -> None:
    running = await start()
    await running.channel.deliver_message("", shared=(SharedText("contact", "Bo, +49 1"),))
    said = await running.channel.wait_for_text("+49 1")
    assert 'source="contact"' in said
    assert running.channel.sent_texts(DEFAULT_LOCATION)


async def test_an_album_that_cannot_be_read_is_answered_too(start) -> None:
    running = await start()
    for number in range(2):
        await running.channel.deliver_message("", unreadable="paid media", media_group_id="a", external_id=f"p{number}")
    assert await running.channel.wait_for_text("paid media") == format_unreadable_notice("paid media")
    assert await running.store.runs.list() == []
