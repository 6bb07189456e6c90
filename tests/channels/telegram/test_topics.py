"""What belongs into a topic that is gone is sent to the chat, and says for which topic it was."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sophon.testing import VirtualClock
from sophon_channels.contract import (
    Button,
    ChannelHealth,
    ChatLocation,
    OutboundMessage,
    SendSucceeded,
    before_no_request,
)
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.telegram.api.client import TelegramClient, redirect_to_chat
from sophon_channels.telegram.api.transport import BotApiTransport
from sophon_channels.telegram.rendering import REPEAT_MARK, TEXT_LIMIT, render_payloads
from sophon_channels.telegram.sender import TelegramSender
from sophon_channels.text.utf16 import utf16_length
from tests.channels.telegram.bot_api import TOKEN, Answer, BotApi

NOTE = "↪️ For the topic 7, which is closed or deleted:\n"
TOPIC = ChatLocation("-100", "group", thread="7")


@pytest.fixture
async def sender(api: BotApi) -> AsyncIterator[TelegramSender]:
    clock = VirtualClock()
    transport = BotApiTransport(TOKEN, api.base, clock)
    yield TelegramSender(TelegramClient(transport), clock, ChannelHealth())
    await transport.close()


def entry(message: OutboundMessage) -> OutboundEntry:
    return OutboundEntry("e:0", None, "telegram", "1", TOPIC.key, "answer", render_payloads(message)[0])


@pytest.mark.parametrize(
    "reason", ["message thread not found", "TOPIC_CLOSED", "TOPIC_DELETED"], ids=["unknown", "closed", "deleted"]
)
async def test_an_answer_goes_to_the_chat_with_a_line_that_names_the_topic(
    api: BotApi, sender: TelegramSender, reason: str
) -> None:
    api.script("sendMessage", Answer.error(400, f"Bad Request: {reason}"))
    buttons = (Button("Approve", "ap:1:approve"),)
    result = await sender.send(
        entry(OutboundMessage("**hello**", buttons=buttons, reply_to_message_id="5")), before_no_request
    )
    assert isinstance(result, SendSucceeded)
    first, second = api.of("sendMessage")
    assert first["message_thread_id"] == 7
    assert "message_thread_id" not in second
    assert "reply_parameters" not in second
    assert second["text"] == f"{NOTE}<b>hello</b>"
    assert second["reply_markup"]["inline_keyboard"][0][0]["text"] == "Approve"


@pytest.mark.parametrize("caption", ["", "the log"])
async def test_a_file_goes_to_the_chat_too(api: BotApi, sender: TelegramSender, tmp_path: Path, caption: str) -> None:
    path = tmp_path.resolve() / "log.txt"
    path.write_text("content")
    api.script("sendDocument", Answer.error(400, "Bad Request: message thread not found"))
    message = OutboundMessage(caption, file_path=str(path), media_type="text/plain")
    assert isinstance(await sender.send(entry(message), before_no_request), SendSucceeded)
    sent = api.of("sendDocument")[-1]
    assert "message_thread_id" not in sent
    assert sent["caption"] == (NOTE + caption).strip()


async def test_a_preview_and_the_answer_that_replaces_it_keep_the_line(api: BotApi, sender: TelegramSender) -> None:
    api.script("sendMessage", Answer.error(400, "Bad Request: message thread not found"))
    preview = await sender.update_preview(TOPIC, "so far", None, None)
    assert api.of("sendMessage")[-1]["text"] == f"{NOTE}so far"
    await sender.send(entry(OutboundMessage("so far and further", replaces_message_id=preview)), before_no_request)
    assert api.of("editMessageText")[-1]["text"] == f"{NOTE}so far and further"


async def test_what_was_shown_in_a_topic_that_was_then_deleted_is_sent_to_the_chat(
    api: BotApi, sender: TelegramSender
) -> None:
    api.script("editMessageText", Answer.error(400, "Bad Request: message to edit not found"))
    api.script("sendMessage", Answer.error(400, "Bad Request: message thread not found"))
    assert isinstance(
        await sender.send(entry(OutboundMessage("done", replaces_message_id="44")), before_no_request), SendSucceeded
    )
    assert api.of("sendMessage")[-1]["text"] == f"{NOTE}done"


async def test_a_chat_without_topics_gets_no_second_attempt(api: BotApi, sender: TelegramSender) -> None:
    api.script("sendMessage", Answer.error(400, "Bad Request: message thread not found"))
    plain = OutboundEntry("e:0", None, "telegram", "1", "-100", "answer", render_payloads(OutboundMessage("x"))[0])
    assert not isinstance(await sender.send(plain, before_no_request), SendSucceeded)
    assert len(api.of("sendMessage")) == 1


def test_every_part_of_a_long_text_has_space_for_the_line() -> None:
    for payload in render_payloads(OutboundMessage("word " * 5000)):
        redirected: dict[str, Any] = redirect_to_chat(payload, str(2**53))
        assert redirected["plain"] != payload["plain"]
        assert utf16_length(REPEAT_MARK + redirected["plain"]) <= TEXT_LIMIT


def test_a_part_without_space_for_the_line_is_sent_without_it() -> None:
    assert redirect_to_chat({"plain": "x" * TEXT_LIMIT, "reply_to": "5"}, "7") == {"plain": "x" * TEXT_LIMIT}
