"""Files to WhatsApp: uploaded, then sent as what they are."""

from pathlib import Path
from typing import Any

import pytest

from sophon_channels.contract import (
    Button,
    OutboundMessage,
    SendAmbiguous,
    SendDeferred,
    SendResult,
    SendSucceeded,
    SendUnauthorized,
    SendUndeliverable,
)
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.whatsapp.api.downloads import MAX_BYTES_BY_KIND
from sophon_channels.whatsapp.api.uploads import choose_media_kind, find_file_problem, to_upload_media_type
from sophon_channels.whatsapp.rendering import render_payloads
from tests.channels.whatsapp.graph_api import NUMBER_ID, GraphApi


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "file"
    path.write_bytes(b"content")
    return path


async def sent(channel: Any, path: Path, media_type: str, text: str = "", **more: Any) -> SendResult:
    payload = channel.render_payloads(OutboundMessage(text, file_path=str(path), media_type=media_type, **more))[0]
    entry = OutboundEntry("e", None, "whatsapp", NUMBER_ID, "15550002222", "file", payload, attempts=1)
    receipt: SendResult = await channel.send(entry)
    return receipt


@pytest.mark.parametrize(
    ("media_type", "kind", "shown"),
    [
        ("image/png", "image", {"caption": "*look*"}),
        ("video/mp4", "video", {"caption": "*look*"}),
        ("audio/mpeg", "audio", {}),
        ("application/pdf", "document", {"caption": "*look*", "filename": "file"}),
    ],
)
async def test_a_file_is_uploaded_and_sent_as_what_it_is(
    channel: Any, graph: GraphApi, path: Path, media_type: str, kind: str, shown: dict[str, str]
) -> None:
    assert await sent(channel, path, media_type, "**look**", reply_to_message_id="wamid.A") == SendSucceeded(
        "wamid.OUT1"
    )
    assert graph.uploads == {"up1": ("file", media_type, b"content")}
    [message] = graph.messages
    assert (message["type"], message["context"]) == (kind, {"message_id": "wamid.A"})
    assert message[kind] == {"id": "up1", **shown}


@pytest.mark.parametrize(
    ("media_type", "size", "kind"),
    [
        ("image/jpeg", MAX_BYTES_BY_KIND["image"], "image"),
        ("image/jpeg", MAX_BYTES_BY_KIND["image"] + 1, "document"),
        ("image/webp", 5, "document"),
        ("audio/AMR", 5, "audio"),
        ("video/mp4", MAX_BYTES_BY_KIND["video"] + 1, "document"),
        ("application/zip", 5, "document"),
    ],
)
def test_what_whatsapp_does_not_show_is_a_document(media_type: str, size: int, kind: str) -> None:
    assert choose_media_kind(media_type, size) == kind


@pytest.mark.parametrize(
    ("media_type", "told"),
    [("text/csv", "text/plain"), ("application/json", "text/plain"), ("Application/PDF", "application/pdf")],
)
def test_meta_knows_one_kind_of_text(media_type: str, told: str) -> None:
    assert to_upload_media_type(media_type) == told


@pytest.mark.parametrize("markdown", [True, False])
def test_what_does_not_fit_into_the_caption_follows_it(markdown: bool) -> None:
    first, *rest = render_payloads(OutboundMessage("word " * 2000, file_path="/a/b.txt", is_markdown=markdown))
    assert 500 < len(first["text"]) <= 1000
    assert all("file" not in each and each["text"] for each in rest)
    assert " ".join(each["text"] for each in (first, *rest)).split() == ["word"] * 2000


def test_buttons_stand_below_a_text_and_never_at_a_file() -> None:
    buttons = (Button("Yes", "y"),)
    file, text = render_payloads(OutboundMessage("May it?", file_path="/a/b.txt", buttons=buttons))
    assert (file["text"], text["text"], "buttons" in file) == ("", "May it?", False)
    with pytest.raises(ValueError, match="they need a text"):
        render_payloads(OutboundMessage("", file_path="/a/b.txt", buttons=buttons))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([GraphApi.CUT], SendDeferred),
        ([(500, 131000)], SendDeferred),
        ([(401, 190)], SendUnauthorized),
        ([(400, 100)], SendUndeliverable),
    ],
)
async def test_an_upload_that_failed_is_no_doubt(
    channel: Any, graph: GraphApi, path: Path, answers: list[Any], expected: type
) -> None:
    graph.answers.extend(answers)
    assert isinstance(await sent(channel, path, "application/pdf"), expected)
    assert graph.messages == []


async def test_a_send_without_an_answer_after_the_upload_is_one(channel: Any, graph: GraphApi, path: Path) -> None:
    graph.answers.extend([None, GraphApi.CUT])
    assert isinstance(await sent(channel, path, "application/pdf"), SendAmbiguous)
    assert len(graph.uploads) == 1


@pytest.mark.parametrize(
    ("size", "media_type", "problem"),
    [
        (MAX_BYTES_BY_KIND["document"] + 1, "application/pdf", "'file' is too large: 104857601 bytes"),
        (1, "application/zip", "does not accept files of the type application/zip"),
    ],
)
async def test_a_file_that_meta_does_not_take_is_not_even_uploaded(
    channel: Any, graph: GraphApi, path: Path, size: int, media_type: str, problem: str
) -> None:
    with path.open("r+b") as file:
        file.truncate(size)
    receipt = await sent(channel, path, media_type)
    assert isinstance(receipt, SendUndeliverable)
    assert problem in receipt.error
    assert graph.uploads == {}


@pytest.mark.parametrize(
    ("media_type", "problem"),
    [
        ("text/csv", ""),
        ("application/pdf", ""),
        ("image/webp", ""),
        ("application/zip", "WhatsApp does not accept files of the type application/zip"),
        ("", "WhatsApp does not accept files of the type application/octet-stream"),
    ],
)
def test_what_meta_does_not_take_is_known_before(media_type: str, problem: str) -> None:
    assert find_file_problem(media_type, 5).startswith(problem)
    assert bool(find_file_problem(media_type, 5)) is bool(problem)


async def test_the_same_bytes_are_uploaded_once(channel: Any, graph: GraphApi, path: Path) -> None:
    for _ in range(2):
        assert isinstance(await sent(channel, path, "application/pdf"), SendSucceeded)
    assert len(graph.uploads) == 1
    path.write_bytes(b"other")
    assert isinstance(await sent(channel, path, "application/pdf"), SendSucceeded)
    assert len(graph.uploads) == 2


async def test_a_file_that_meta_has_no_more_is_uploaded_again(channel: Any, graph: GraphApi, path: Path) -> None:
    assert isinstance(await sent(channel, path, "application/pdf"), SendSucceeded)
    graph.answers.append((400, 131009))
    assert isinstance(await sent(channel, path, "application/pdf"), SendSucceeded)
    assert (len(graph.uploads), len(graph.messages)) == (2, 2)


async def test_a_refusal_of_a_new_upload_is_not_tried_again(channel: Any, graph: GraphApi, path: Path) -> None:
    graph.answers.extend([None, (400, 131053)])
    assert isinstance(await sent(channel, path, "application/pdf"), SendUndeliverable)
    assert (len(graph.uploads), len(graph.messages)) == (1, 0)


async def test_speech_is_a_voice_message(channel: Any, graph: GraphApi, path: Path) -> None:
    assert isinstance(await sent(channel, path, "audio/ogg", is_voice=True), SendSucceeded)
    assert graph.messages[-1]["audio"]["voice"] is True
    assert isinstance(await sent(channel, path, "audio/ogg"), SendSucceeded)
    assert "voice" not in graph.messages[-1]["audio"]
