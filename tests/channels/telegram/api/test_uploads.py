"""Files to Telegram: what is a photo, what a document, and what becomes of one that does not go."""

from pathlib import Path
from typing import Any

import pytest

from sophon_channels.contract import (
    Button,
    OutboundMessage,
    SendAmbiguous,
    SendDeferred,
    SendSucceeded,
    SendUndeliverable,
)
from sophon_channels.telegram.api.uploads import MAX_PHOTO_BYTES, MAX_UPLOAD_BYTES
from sophon_channels.telegram.channel import TelegramChannel
from sophon_channels.telegram.rendering import CAPTION_LIMIT, render_payloads
from tests.channels.telegram.bot_api import CUT, Answer, BotApi
from tests.channels.telegram.conftest import Open
from tests.channels.telegram.parts import entry


@pytest.fixture
async def channel(opened: Open) -> TelegramChannel:
    return await opened()


def a_file(folder: Path, name: str, size: int = 5) -> str:
    """A file of so many bytes, most of them a hole on the disk."""
    path = folder.resolve() / name
    path.write_bytes(b"%PDF-")
    with path.open("r+b") as file:
        file.truncate(size)
    return str(path)


def one(path: str, media_type: str, text: str = "", **fields: Any) -> dict[str, Any]:
    (payload,) = render_payloads(OutboundMessage(text, file_path=path, media_type=media_type, **fields))
    return payload


@pytest.mark.parametrize(
    ("media_type", "size", "method"),
    [
        ("image/png", 5, "sendPhoto"),
        ("image/jpeg", MAX_PHOTO_BYTES, "sendPhoto"),
        ("image/webp", MAX_PHOTO_BYTES + 1, "sendDocument"),
        ("image/gif", 5, "sendDocument"),
        ("application/pdf", MAX_UPLOAD_BYTES, "sendDocument"),
    ],
)
async def test_a_picture_is_a_photo_and_all_else_a_document(
    channel: TelegramChannel, api: BotApi, tmp_path: Path, media_type: str, size: int, method: str
) -> None:
    path = a_file(tmp_path, "file", size)
    assert await channel.send(entry(one(path, media_type))) == SendSucceeded("1000")
    (upload,) = api.uploads
    assert upload == ("file", media_type, Path(path).read_bytes())
    assert [call.method for call in api.calls if call.method.startswith("send")] == [method]


@pytest.mark.parametrize("media_type", ["image/png", "application/pdf"])
async def test_the_same_bytes_are_uploaded_once(
    channel: TelegramChannel, api: BotApi, tmp_path: Path, media_type: str
) -> None:
    path = a_file(tmp_path, "file")
    for chat in ("5", "6", "7"):
        assert isinstance(await channel.send(entry(one(path, media_type), chat=chat)), SendSucceeded)
    assert len(api.uploads) == 1
    Path(path).write_bytes(b"other")
    assert isinstance(await channel.send(entry(one(path, media_type), chat="9")), SendSucceeded)
    assert len(api.uploads) == 2


async def test_a_file_that_telegram_has_no_more_is_uploaded_again(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    path = a_file(tmp_path, "a.pdf")
    assert isinstance(await channel.send(entry(one(path, "application/pdf"), chat="7")), SendSucceeded)
    api.held.clear()
    assert isinstance(await channel.send(entry(one(path, "application/pdf"), chat="8")), SendSucceeded)
    assert len(api.uploads) == 2


async def test_a_file_has_a_caption_an_answer_and_buttons(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    path = a_file(tmp_path, "a.pdf")
    buttons = (Button("Yes", "ap:1"),)
    named = one(
        path, "application/pdf", "**Look**", reply_to_message_id="42", buttons=buttons, file_name='Bericht "März".pdf'
    )
    await channel.send(entry(named, "-1001234567890/7"))
    (fields,) = api.of("sendDocument")
    assert (fields["caption"], fields["parse_mode"]) == ("<b>Look</b>", "HTML")
    assert (fields["message_thread_id"], fields["reply_parameters"]["message_id"]) == (7, 42)
    assert fields["reply_markup"]["inline_keyboard"] == [[{"text": "Yes", "callback_data": "ap:1"}]]
    assert api.uploads[0][0] == 'Bericht "März".pdf'


def test_what_does_not_fit_into_the_caption_follows_it() -> None:
    first, *rest = render_payloads(OutboundMessage("word " * 2000, file_path="/a/b.txt"))
    assert CAPTION_LIMIT // 2 < len(first["plain"]) <= CAPTION_LIMIT
    assert len(rest) == 3
    assert " ".join(part["plain"] for part in (first, *rest)).split() == ["word"] * 2000


def test_a_file_without_a_text_is_a_message_and_takes_the_place_of_none() -> None:
    assert render_payloads(OutboundMessage("", file_path="/a/b.txt", replaces_message_id="5")) == [
        {"file": "/a/b.txt", "file_name": "b.txt", "media_type": "application/octet-stream"}
    ]


async def test_a_picture_that_is_no_photo_is_sent_as_a_document(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    api.script("sendPhoto", Answer.error(400, "Bad Request: PHOTO_INVALID_DIMENSIONS"))
    assert isinstance(await channel.send(entry(one(a_file(tmp_path, "a.png"), "image/png", "look"))), SendSucceeded)
    assert api.of("sendDocument")[0]["caption"] == "look"


async def test_a_caption_that_telegram_cannot_read_is_sent_as_plain_text(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    api.script("sendDocument", Answer.error(400, "Bad Request: can't parse entities"))
    await channel.send(entry(one(a_file(tmp_path, "a"), "x/y", "**a**")))
    assert [call["caption"] for call in api.of("sendDocument")] == ["<b>a</b>", "a"]
    assert len(api.uploads) == 2


async def test_a_file_that_may_be_a_repeat_says_so(channel: TelegramChannel, api: BotApi, tmp_path: Path) -> None:
    path = a_file(tmp_path, "a")
    await channel.send(entry(one(path, "x/y"), doubtful=True))
    long, *_ = render_payloads(OutboundMessage("a" * 3000, file_path=path))
    await channel.send(entry(long, doubtful=True))
    assert [call["caption"][:24] for call in api.of("sendDocument")] == [
        "♻️ This may be a repeat:",
        "♻️ This may be a repeat:",
    ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer.error(500, "Internal Server Error"), SendDeferred),
        (Answer.error(400, "Bad Request: chat not found"), SendUndeliverable),
        (Answer(413, b"<html>Request Entity Too Large"), SendUndeliverable),
        (CUT, SendAmbiguous),
    ],
)
async def test_a_failed_file_is_what_a_failed_text_is(
    channel: TelegramChannel, api: BotApi, tmp_path: Path, answer: Answer, expected: type
) -> None:
    api.script("sendDocument", answer)
    assert isinstance(await channel.send(entry(one(a_file(tmp_path, "a"), "x/y"))), expected)


@pytest.mark.parametrize(
    ("size", "said"),
    [(MAX_UPLOAD_BYTES + 1, "is too large: 52428801 bytes, and at most 52428800 can be sent"), (0, "it is empty")],
)
async def test_a_file_that_telegram_would_not_take_is_not_even_begun(
    channel: TelegramChannel, api: BotApi, tmp_path: Path, size: int, said: str
) -> None:
    receipt = await channel.send(entry(one(a_file(tmp_path, "a", size), "x/y")))
    assert isinstance(receipt, SendUndeliverable)
    assert said in receipt.error
    assert api.of("sendDocument") == []


async def test_speech_is_a_voice_message(channel: TelegramChannel, api: BotApi, tmp_path: Path) -> None:
    path = tmp_path.resolve() / "answer.ogg"
    path.write_bytes(b"OggS speech")
    payload = one(str(path), "audio/ogg", is_voice=True)
    for chat in ("5", "6"):
        assert isinstance(await channel.send(entry(payload, chat)), SendSucceeded)
    assert [call["voice"] for call in api.of("sendVoice")] == ["attach://file", "voice-0"]
    assert api.uploads == [("answer.ogg", "audio/ogg", b"OggS speech")]
