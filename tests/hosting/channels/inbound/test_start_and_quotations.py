"""The first message to a bot, forwarded commands, and quotations that only the store knows."""

import asyncio
from typing import Any

import pytest

from sophon_channels.access_policy import AccessPolicy
from sophon_channels.chat_commands import COMMAND_DESCRIPTIONS, GREETING, GROUP_GREETING
from sophon_channels.contract import ChatLocation, Person

GROUP = ChatLocation("-20", "group")


@pytest.mark.parametrize("text", ["/start", "/start payload_1", "/START x"])
async def test_start_says_what_this_is_and_lists_the_commands(start, text: str) -> None:
    running = await start()
    await running.channel.deliver_message(text)
    said = await running.channel.wait_for_text("This is Sophon")
    assert said.startswith(GREETING)
    assert all(f"/{name}" in said for name in COMMAND_DESCRIPTIONS)
    assert "payload" not in said
    assert await running.store.runs.list() == []


async def test_a_stranger_who_sends_start_gets_a_pairing_code_and_nothing_else(start) -> None:
    running = await start(policy=AccessPolicy())
    await running.channel.deliver_message("/start", person=Person("2", "Eve"))
    said = await running.channel.wait_for_text("sophon pairing approve")
    assert "/help" not in said
    assert "Sophon, an assistant" not in said


async def test_a_group_is_greeted_only_if_the_bot_is_addressed(start) -> None:
    running = await start()
    await running.channel.deliver_message("/start@other_bot", location=GROUP)
    await running.channel.deliver_message("/start", location=GROUP, is_mention=True)
    await running.channel.wait_for_text(GROUP_GREETING, GROUP)
    assert len(running.channel.sent_texts(GROUP)) == 1


async def test_a_forwarded_command_is_text_of_somebody_else(start) -> None:
    running = await start()
    await running.channel.deliver_message("/new", is_forwarded=True)
    assert "/new" in await running.channel.wait_for_text("You said: (forwarded message)")


async def test_a_quoted_id_becomes_the_text_that_the_bot_sent(start) -> None:
    running = await start()
    await running.channel.deliver_message("tea")
    await running.channel.wait_for_text("You said: tea")
    sent = await _sent_id(running, running.channel.sent[-1].id)
    await running.channel.deliver_message("why?", quoted_message_id=sent)
    assert "> You said: tea\nwhy?" in await running.channel.wait_for_text("why?")


async def test_a_quoted_id_becomes_the_text_that_the_person_wrote(start) -> None:
    running = await start()
    first = await running.channel.deliver_message("tea")
    await running.channel.wait_for_text("You said: tea")
    await running.channel.deliver_message("why?", quoted_message_id=first.message_id)
    assert "You said: > tea\nwhy?" in await running.channel.wait_for_text("why?")


async def test_a_quoted_forward_stays_foreign(start) -> None:
    running = await start()
    first = await running.channel.deliver_message("tea", is_forwarded=True)
    await running.channel.wait_for_text("tea")
    await running.channel.deliver_message("why?", quoted_message_id=first.message_id)
    assert 'source="quoted message"' in await running.channel.wait_for_text("why?")


async def test_an_unknown_quoted_id_quotes_nothing(start) -> None:
    running = await start()
    await running.channel.deliver_message("why?", quoted_message_id="gone")
    assert await running.channel.wait_for_text("why?") == "You said: why?"


async def _sent_id(running: Any, entry_id: str) -> str:
    """The platform's id of an entry, once the result of its sending is stored."""
    async with asyncio.timeout(30):
        while (found := (await running.store.outbox.get(entry_id)).platform_id) is None:
            await asyncio.sleep(0)
    return str(found)
