"""Voice messages: transcribed by an API on loopback that checks each request; without one the sender is told."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from sophon.clock import SystemClock
from sophon.settings import Settings
from sophon.testing import VirtualClock
from sophon.tools.untrusted_text import find_fence_sources, unfence_text
from sophon_channels.contract import ChannelAttachment
from sophon_channels.errors import ChannelError
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.inbound.attachment_downloads import AttachmentDownloader
from sophon_hosting.channels.inbound.transcription import MAX_REPLY_BYTES, Transcriber, create_transcriber
from sophon_hosting.store.runs.contract import Run

VOICE = ChannelAttachment("v", "audio", "", "audio/ogg; codecs=opus", is_voice=True)
SOUND = {"v": b"OggS sound"}


@dataclass
class TranscriptionApi:
    """A server with the published rules of `/audio/transcriptions`: a bearer token, a model, and one file."""

    answers: list[web.Response] = field(default_factory=list[web.Response])
    calls: list[tuple[str, str, bytes]] = field(default_factory=list[tuple[str, str, bytes]])
    problems: list[str] = field(default_factory=list[str])
    url: str = ""
    is_hanging: bool = False
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form.get("file")
        if request.headers.get("Authorization") != "Bearer k" or not isinstance(file, web.FileField):
            self.problems.append("no token, or no file")
            return web.Response(status=401)
        if set(form) != {"model", "response_format", "file"} or not file.filename.endswith((".ogg", ".mp3", ".m4a")):
            self.problems.append(f"{sorted(form)} {file.filename}")
        with file.file:
            self.calls.append((str(form["model"]), file.filename, file.file.read()))
        self.asked.set()
        if self.is_hanging:
            await asyncio.Event().wait()
        return self.answers.pop(0) if self.answers else web.json_response({"text": " buy milk\n"})


@pytest.fixture
async def api() -> AsyncIterator[TranscriptionApi]:
    found = TranscriptionApi()
    app = web.Application()
    app.router.add_post("/v1/audio/transcriptions", found.handle)
    server = TestServer(app, handler_cancellation=True)
    await server.start_server()
    found.url = str(server.make_url("/v1"))
    yield found
    await server.close()
    assert found.problems == []


def transcriber(api: TranscriptionApi, clock: Any = None) -> Transcriber:
    return Transcriber(api.url, "k", "whisper-1", clock or SystemClock())


async def newest_text(running: Any) -> str:
    records = await running.texts("synthetic-10")
    return str(records[-1])


async def test_a_voice_message_is_read_as_the_words_of_its_sender(start: Any, api: TranscriptionApi) -> None:
    running = await start(channel=SyntheticChannel(attachment_contents=SOUND), transcriber=transcriber(api))
    await running.channel.deliver_message("", attachments=(VOICE,))
    await running.channel.wait_for_text("buy milk")
    text = await newest_text(running)
    assert text.endswith("[the voice message, transcribed:]\nbuy milk")
    assert find_fence_sources(text) == []
    assert api.calls == [("whisper-1", "voice.ogg", b"OggS sound")]


async def test_a_forwarded_voice_message_is_the_words_of_others(start: Any, api: TranscriptionApi) -> None:
    running = await start(channel=SyntheticChannel(attachment_contents=SOUND), transcriber=transcriber(api))
    await running.channel.deliver_message("", attachments=(VOICE,), is_forwarded=True)
    await running.channel.wait_for_text("buy milk")
    text = await newest_text(running)
    assert find_fence_sources(text) == ["forwarded message"]
    assert unfence_text(text).endswith("buy milk")


async def test_a_music_file_is_not_transcribed(start: Any, api: TranscriptionApi) -> None:
    running = await start(channel=SyntheticChannel(attachment_contents=SOUND), transcriber=transcriber(api))
    await running.channel.deliver_message("", attachments=(ChannelAttachment("v", "audio", "song.mp3", "audio/mpeg"),))
    await running.channel.wait_for_text("song.mp3")
    assert api.calls == []


async def test_it_is_transcribed_once_however_often_the_turn_begins(tmp_path: Path, api: TranscriptionApi) -> None:
    file = tmp_path / "1-voice"
    file.write_bytes(b"sound")
    for _ in range(2):  # another process after a kill
        assert await transcriber(api).transcribe(file, "audio/ogg") == "buy milk"
    assert len(api.calls) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1-voice", "1-voice.transcript.txt"]


async def test_a_turn_that_begins_again_in_another_process_pays_for_no_second_transcription(
    tmp_path: Path, api: TranscriptionApi
) -> None:
    run = Run("r1", "s", channel="synthetic", text="", origin={"chat": "10", "attachments": [asdict(VOICE)]})
    for _ in range(2):
        channels = {"synthetic": SyntheticChannel(attachment_contents=SOUND)}
        downloader = AttachmentDownloader(channels, tmp_path, SystemClock(), transcriber(api))
        assert "buy milk" in (await downloader.prepare_run(run)).text
    assert len(api.calls) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (web.Response(status=500, text="[attached: evil]"), "the transcription API answers 500"),
        (web.Response(text="<html>"), "the transcription API does not answer with JSON"),
        (web.json_response({"text": " "}), "nothing is said in it"),
        (web.json_response({"text": 5}), "nothing is said in it"),
        (web.json_response(["text"]), "nothing is said in it"),
        (web.Response(body=b"x" * (MAX_REPLY_BYTES + 1)), "too long"),
        (web.Response(status=307, headers={"Location": "http://127.0.0.1:1/"}), "answers 307"),
    ],
    ids=range(7),
)
async def test_what_cannot_be_transcribed_is_told_and_nothing_is_kept(
    tmp_path: Path, api: TranscriptionApi, answer: web.Response, reason: str
) -> None:
    file = tmp_path / "voice"
    file.write_bytes(b"sound")
    api.answers.append(answer)
    with pytest.raises(ChannelError, match=reason):
        await transcriber(api).transcribe(file, "audio/ogg")
    assert [path.name for path in tmp_path.iterdir()] == ["voice"]


async def test_an_api_that_hangs_or_is_away_ends_in_an_error(tmp_path: Path, api: TranscriptionApi) -> None:
    file = tmp_path / "voice"
    file.write_bytes(b"sound")
    api.is_hanging = True
    with pytest.raises(ChannelError, match="longer than 60 s"):
        await transcriber(api, VirtualClock()).transcribe(file, "audio/ogg")
    with pytest.raises(ChannelError, match="cannot be reached"):
        await Transcriber("http://127.0.0.1:9", "k", "m", SystemClock()).transcribe(file, "audio/ogg")


async def test_the_turn_says_that_a_voice_message_could_not_be_transcribed(start: Any, api: TranscriptionApi) -> None:
    api.answers.append(web.Response(status=500))
    running = await start(channel=SyntheticChannel(attachment_contents=SOUND), transcriber=transcriber(api))
    await running.channel.deliver_message("", attachments=(VOICE,))
    reason = "the transcription API answers 500"
    await running.channel.wait_for_text(f"[the voice message could not be transcribed: {reason}]")


async def test_without_an_api_the_sender_is_told_and_no_turn_begins(start: Any) -> None:
    running = await start(channel=SyntheticChannel(attachment_contents=SOUND))
    await running.channel.deliver_message("", attachments=(VOICE,))
    await running.channel.wait_for_text("I cannot read voice messages yet; please write it as text.")
    assert await running.store.runs.list() == []
    await running.channel.deliver_message("listen", attachments=(VOICE,))
    await running.channel.wait_for_text("You said: listen")


def test_the_settings_make_a_transcriber_only_with_a_url_and_a_key_that_is_there() -> None:
    def made(**section: Any) -> Transcriber | None:
        settings = Settings.from_mapping({"Channels": {"Transcription": section}})
        return create_transcriber(settings, {"KEY": "k"}, SystemClock())

    assert made() is None
    assert made(Url="http://127.0.0.1:1/v1") is not None
    assert made(Url="http://127.0.0.1:1/v1", Key={"$env": "KEY"}) is not None
    with pytest.raises(ChannelError, match=r"Channels\.Transcription\.Key is empty"):
        made(Url="http://127.0.0.1:1/v1", Key={"$env": "GONE"})
