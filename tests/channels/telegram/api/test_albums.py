"""Albums of Telegram: what forms one, one request for each, and what becomes of one that fails."""

from pathlib import Path
from typing import Any

import pytest

from sophon_channels.contract import (
    Button,
    FileReference,
    OutboundMessage,
    SendAmbiguous,
    SendPostponed,
    SendSucceeded,
    SendUndeliverable,
)
from sophon_channels.telegram.api.albums import group_files
from sophon_channels.telegram.api.uploads import MAX_PHOTO_BYTES, MAX_UPLOAD_BYTES
from sophon_channels.telegram.channel import TelegramChannel
from sophon_channels.telegram.rendering import render_payloads
from tests.channels.telegram.bot_api import CUT, Answer, BotApi
from tests.channels.telegram.conftest import Open
from tests.channels.telegram.parts import entry

PNG, MP4, MP3, PDF, GIF = "image/png", "video/mp4", "audio/mpeg", "application/pdf", "image/gif"


@pytest.fixture
async def channel(opened: Open) -> TelegramChannel:
    return await opened()


def reference(name: str, media_type: str, size: int = 5) -> FileReference:
    return FileReference(f"/files/{name}", name, media_type, size)


def album(folder: Path, *media_types: str, text: str = "", **fields: Any) -> dict[str, Any]:
    """The payload of an album with files that differ."""
    files: list[FileReference] = []
    for number, media_type in enumerate(media_types):
        path = folder.resolve() / f"file{number}"
        path.write_bytes(b"content %d" % number)
        files.append(FileReference(str(path), path.name, media_type, 9))
    first, *more = files
    (payload,) = render_payloads(
        OutboundMessage(text, file_path=first.path, media_type=first.media_type, more_files=tuple(more), **fields)
    )
    return payload


def names(files: list[FileReference]) -> list[list[str]]:
    return [[file.name for file in group] for group in group_files(files, MAX_UPLOAD_BYTES)]


def test_pictures_and_videos_are_mixed_and_documents_and_sound_are_with_their_like() -> None:
    kinds = {"a": PNG, "b": PDF, "c": MP4, "d": MP3, "e": GIF, "f": "text/plain", "g": MP3, "h": "image/jpeg"}
    files = [reference(name, media_type) for name, media_type in kinds.items()]
    assert names(files) == [["a", "c", "h"], ["b", "f"], ["d", "g"], ["e"]]


def test_an_album_has_at_most_ten_files_and_the_rest_is_sent_on_its_own() -> None:
    assert [len(group) for group in names([reference(str(n), PNG) for n in range(21)])] == [10, 10, 1]


def test_an_album_is_no_larger_than_a_request_and_a_large_picture_is_a_document() -> None:
    files = [reference("a", PDF, MAX_UPLOAD_BYTES - 5), reference("b", PDF), reference("c", PDF, 1)]
    assert names(files) == [["a", "b"], ["c"]]
    assert names([reference("a", PNG), reference("b", PNG, MAX_PHOTO_BYTES + 1)]) == [["a"], ["b"]]


async def test_an_album_is_one_request_with_the_caption_on_its_first_file(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    payload = album(tmp_path, PNG, MP4, text="**look**", reply_to_message_id="42")
    assert await channel.send(entry(payload, "-1001234567890/7")) == SendSucceeded("1000")
    (fields,) = api.of("sendMediaGroup")
    assert [(each["type"], each.get("caption")) for each in fields["media"]] == [
        ("photo", "<b>look</b>"),
        ("video", None),
    ]
    assert (fields["message_thread_id"], fields["reply_parameters"]["message_id"]) == (7, 42)
    assert api.uploads == [("file0", PNG, b"content 0"), ("file1", MP4, b"content 1")]


@pytest.mark.parametrize("media_types", [(PNG, MP4), (PDF, "text/plain"), (MP3, MP3)])
async def test_files_that_telegram_has_are_not_uploaded_again(
    channel: TelegramChannel, api: BotApi, tmp_path: Path, media_types: tuple[str, ...]
) -> None:
    payload = album(tmp_path, *media_types)
    for chat in ("5", "6"):
        assert isinstance(await channel.send(entry(payload, chat)), SendSucceeded)
    assert (len(api.uploads), len(api.of("sendMediaGroup"))) == (2, 2)
    api.held.clear()  # Telegram has them no more
    assert isinstance(await channel.send(entry(payload, "7")), SendSucceeded)
    assert len(api.uploads) == 4


async def test_a_picture_that_was_sent_alone_is_not_uploaded_for_an_album(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    payload = album(tmp_path, PNG, PNG)
    alone = {key: value for key, value in payload.items() if key != "more_files"}
    await channel.send(entry(alone, "5"))
    assert isinstance(await channel.send(entry(payload, "6")), SendSucceeded)
    assert len(api.uploads) == 2


async def test_an_album_with_a_picture_that_is_none_is_sent_as_documents(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    api.script("sendMediaGroup", Answer.error(400, "Bad Request: PHOTO_INVALID_DIMENSIONS"))
    assert isinstance(await channel.send(entry(album(tmp_path, PNG, MP4, text="look"))), SendSucceeded)
    assert [each["type"] for each in api.of("sendMediaGroup")[1]["media"]] == ["document", "document"]


async def test_a_caption_that_telegram_cannot_read_is_sent_as_plain_text(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    api.script("sendMediaGroup", Answer.error(400, "Bad Request: can't parse entities"))
    await channel.send(entry(album(tmp_path, PDF, PDF, text="**a**")))
    assert [call["media"][0]["caption"] for call in api.of("sendMediaGroup")] == ["<b>a</b>", "a"]


async def test_an_album_without_an_answer_is_ambiguous_and_its_repeat_says_so(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    payload = album(tmp_path, PNG, PNG)
    api.script("sendMediaGroup", CUT)
    assert isinstance(await channel.send(entry(payload, "5")), SendAmbiguous)
    assert isinstance(await channel.send(entry(payload, "6", doubtful=True)), SendSucceeded)
    assert api.of("sendMediaGroup")[1]["media"][0]["caption"] == "♻️ This may be a repeat:"


async def test_an_album_whose_topic_is_gone_is_sent_to_the_chat(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    api.script("sendMediaGroup", Answer.error(400, "Bad Request: TOPIC_CLOSED"))
    await channel.send(entry(album(tmp_path, PNG, PNG), "-1001234567890/7"))
    assert "For the topic 7" in api.of("sendMediaGroup")[1]["media"][0]["caption"]


async def test_an_album_of_which_a_file_is_gone_is_not_begun(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    payload = album(tmp_path, PNG, PNG)
    (tmp_path / "file1").unlink()
    receipt = await channel.send(entry(payload))
    assert receipt == SendUndeliverable("the file 'file1' cannot be sent: it no longer exists")
    assert api.of("sendMediaGroup") == []


async def test_a_file_that_has_grown_out_of_its_album_makes_it_one_of_documents(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    payload = album(tmp_path, PNG, PNG)
    with (tmp_path / "file1").open("r+b") as file:
        file.truncate(MAX_PHOTO_BYTES + 1)
    assert isinstance(await channel.send(entry(payload)), SendSucceeded)
    assert [each["type"] for each in api.of("sendMediaGroup")[0]["media"]] == ["document", "document"]


async def test_each_file_of_an_album_counts_for_the_limit_of_its_chat(
    channel: TelegramChannel, api: BotApi, tmp_path: Path
) -> None:
    assert isinstance(await channel.send(entry(album(tmp_path, PNG, PNG, PNG))), SendSucceeded)
    assert isinstance(await channel.send(entry({"plain": "hello"})), SendPostponed)


def test_an_album_has_no_buttons_of_its_own() -> None:
    more = (reference("b", PNG),)
    buttons = (Button("Yes", "ap:1"),)
    with pytest.raises(ValueError, match="no buttons"):
        render_payloads(OutboundMessage("", file_path="/a", media_type=PNG, more_files=more, buttons=buttons))
