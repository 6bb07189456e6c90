"""Spoken answers: text first, then a voice note of a speech API on loopback that checks each request."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from sophon.clock import SystemClock
from sophon.settings import Settings
from sophon.testing import VirtualClock
from sophon_channels.contract import ChannelAttachment, SendAmbiguous, SendSucceeded, SendUndeliverable
from sophon_channels.errors import ChannelError
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.outbound import spoken_answers
from sophon_hosting.channels.outbound.speech_synthesis import (
    MAX_AUDIO_BYTES,
    SpeechSynthesizer,
    create_speech_synthesizer,
)

VOICE = ChannelAttachment("v", "audio", "", "audio/ogg; codecs=opus", is_voice=True)
SPEECH = b"OggS speech"
ALWAYS = {"Channels": {"Speech": {"Reply": "Always"}}}


@dataclass
class SpeechApi:
    """A server with the published rules of `/audio/speech`: a bearer token, and JSON with these fields."""

    answers: list[web.Response] = field(default_factory=list[web.Response])
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    problems: list[str] = field(default_factory=list[str])
    url: str = ""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        if request.headers.get("Authorization") != "Bearer k" or request.content_type != "application/json":
            self.problems.append("no token, or no JSON")
        if set(body) != {"model", "voice", "response_format", "input"} or not 1 <= len(body["input"]) <= 4096:
            self.problems.append(f"{sorted(body)}")
        self.calls.append(body)
        self.asked.set()
        await self.gate.wait()
        return self.answers.pop(0) if self.answers else web.Response(body=SPEECH, content_type="audio/ogg")


@pytest.fixture
async def api() -> AsyncIterator[SpeechApi]:
    found = SpeechApi()
    found.gate.set()
    app = web.Application()
    app.router.add_post("/v1/audio/speech", found.handle)
    server = TestServer(app, handler_cancellation=True)
    await server.start_server()
    found.url = str(server.make_url("/v1"))
    yield found
    await server.close()
    assert found.problems == []


def synthesizer(url: str, clock: Any = None) -> SpeechSynthesizer:
    return SpeechSynthesizer(
        url,
        "k",
        model="tts-1",
        voice="alloy",
        response_format="opus",
        clock=clock or SystemClock(),
    )


def channel() -> SyntheticChannel:
    return SyntheticChannel(attachment_contents={"v": b"OggS sound"})


async def test_an_answer_to_a_voice_message_is_sent_as_text_and_then_spoken(start: Any, api: SpeechApi) -> None:
    running = await start(channel=channel(), synthesizer=synthesizer(api.url))
    await running.channel.deliver_message("**hello**", attachments=(VOICE,))
    await running.channel.wait_until(lambda: len(running.channel.sent) == 2)
    answer, voice = running.channel.sent
    assert answer.payload["text"].startswith("You said: **hello**")
    assert (voice.kind, voice.payload["is_voice"], voice.payload["media_type"]) == ("voice", True, "audio/ogg")
    assert (voice.chat, voice.run_id, voice.recipient) == (answer.chat, answer.run_id, answer.recipient)
    assert running.channel.sent_files == [("answer.ogg", SPEECH)]
    (call,) = api.calls
    assert (call["model"], call["voice"], call["response_format"]) == ("tts-1", "alloy", "opus")
    assert call["input"].startswith("You said: hello")  # without markup


async def test_the_text_does_not_wait_for_the_speech(start: Any, api: SpeechApi) -> None:
    api.gate.clear()
    running = await start(channel=channel(), synthesizer=synthesizer(api.url))
    await running.channel.deliver_message("one", attachments=(VOICE,))
    await api.asked.wait()
    assert [entry.kind for entry in running.channel.sent] == ["answer"]
    await running.channel.deliver_message("two")
    await running.channel.wait_for_text("You said: two")
    api.gate.set()
    await running.channel.wait_until(lambda: len(running.channel.sent_files) == 1)


async def test_only_voice_messages_are_answered_by_voice_unless_all_are(start: Any, api: SpeechApi) -> None:
    running = await start(channel=channel(), synthesizer=synthesizer(api.url))
    await running.channel.deliver_message("written")
    await running.channel.wait_for_text("written")
    await running.channel.deliver_message("spoken", attachments=(VOICE,))
    await running.channel.wait_until(lambda: len(running.channel.sent_files) == 1)
    assert ["spoken" in call["input"] for call in api.calls] == [True]
    await running.end()
    everywhere = await start(synthesizer=synthesizer(api.url), **ALWAYS)
    await everywhere.channel.deliver_message("written")
    await everywhere.channel.wait_until(lambda: len(everywhere.channel.sent_files) == 1)


async def test_a_long_answer_and_an_error_are_text_only(
    start: Any, api: SpeechApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spoken_answers, "MAX_CHARACTERS", 20)
    running = await start(synthesizer=synthesizer(api.url), **ALWAYS)
    for text in ("fail", "x" * 11, "x" * 10):
        await running.channel.deliver_message(text)
    await running.channel.wait_until(lambda: len(running.channel.sent_files) == 1)
    assert [call["input"] for call in api.calls] == ["You said: " + "x" * 10]
    assert len(running.channel.sent) == 4


async def test_of_an_answer_in_parts_the_speech_follows_the_last(start: Any, api: SpeechApi) -> None:
    running = await start(channel=SyntheticChannel(max_message_length=20), synthesizer=synthesizer(api.url), **ALWAYS)
    await running.channel.deliver_message("word " * 10)
    await running.channel.wait_until(lambda: len(running.channel.sent_files) == 1)
    assert [entry.kind for entry in running.channel.sent][-2:] == ["answer", "voice"]
    assert len(api.calls) == 1


async def test_an_answer_of_which_a_part_was_not_delivered_is_not_spoken(start: Any, api: SpeechApi) -> None:
    parts = SyntheticChannel(max_message_length=20)
    parts.send_results += [SendSucceeded("a"), SendUndeliverable("no")]
    running = await start(channel=parts, synthesizer=synthesizer(api.url), **ALWAYS)
    await running.channel.deliver_message("word " * 10)
    await running.channel.wait_until(lambda: running.channel.health.counts.get("undelivered") == 1)
    await running.channel.deliver_message("two")
    await running.channel.wait_until(lambda: len(running.channel.sent_files) == 1)
    assert [call["input"] for call in api.calls] == ["You said: two"]


async def test_a_failing_api_leaves_the_text_and_is_logged_once(
    start: Any, api: SpeechApi, caplog: pytest.LogCaptureFixture
) -> None:
    api.answers += [web.Response(status=500, text="no"), web.Response(status=500, text="no")]
    caplog.set_level(logging.WARNING, "sophon")
    running = await start(synthesizer=synthesizer(api.url), **ALWAYS)
    for text in ("one", "two", "three"):
        await running.channel.deliver_message(text)
        await running.channel.wait_for_text(f"You said: {text}")
    await running.channel.wait_until(lambda: len(running.channel.sent_files) == 1)
    assert len(running.channel.sent) == 4
    warnings = [record.message for record in caplog.records if "not spoken" in record.message]
    assert warnings == ["synthetic: answers are not spoken: ChannelError: the speech API answers 500: no"]


async def test_a_voice_note_that_the_platform_refuses_is_not_told_in_the_chat(start: Any, api: SpeechApi) -> None:
    api.gate.clear()
    running = await start(synthesizer=synthesizer(api.url), **ALWAYS)
    await running.channel.deliver_message("one")
    await api.asked.wait()
    running.channel.send_results.append(SendUndeliverable("VOICE_MESSAGES_FORBIDDEN"))
    api.gate.set()
    await running.channel.wait_until(lambda: running.channel.health.counts.get("undelivered") == 1)
    await running.channel.deliver_message("two")
    await running.channel.wait_until(lambda: len(running.channel.sent_files) == 1)
    assert [entry.kind for entry in running.channel.sent] == ["answer", "answer", "voice"]


async def test_a_voice_note_in_doubt_is_marked_as_every_message_is(start: Any, api: SpeechApi) -> None:
    api.gate.clear()
    clock = VirtualClock()
    running = await start(synthesizer=synthesizer(api.url), clock=clock, **ALWAYS)
    await running.channel.deliver_message("one")
    await api.asked.wait()
    running.channel.send_results.append(SendAmbiguous("cut"))
    api.gate.set()
    await running.channel.wait_until(lambda: len(running.channel.sent_files) == 1)
    assert running.channel.sent[-1].doubtful


async def test_a_host_that_ends_while_it_asks_for_speech_leaves_the_text_alone(start: Any, api: SpeechApi) -> None:
    api.gate.clear()
    first = await start(synthesizer=synthesizer(api.url), **ALWAYS)
    await first.channel.deliver_message("one")
    await api.asked.wait()
    await first.end()
    again = await start(store=first.store, synthesizer=synthesizer(api.url), **ALWAYS)
    api.gate.set()
    await again.channel.deliver_message("two", external_id="second")
    await again.channel.wait_until(lambda: len(again.channel.sent_files) == 1)
    assert [entry.kind for entry in again.channel.sent] == ["answer", "voice"]
    assert len(await first.store.outbox.list()) == 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (web.Response(status=401, text="bad\nkey"), "the speech API answers 401: bad"),
        (web.Response(text="<html>"), "does not answer with an Ogg file"),
        (web.Response(body=b""), "does not answer with an Ogg file"),
        (web.Response(body=b"OggS" + b"x" * MAX_AUDIO_BYTES), "too long"),
        (web.Response(status=307, headers={"Location": "http://127.0.0.1:1/"}), "answers 307"),
    ],
    ids=range(5),
)
async def test_what_is_no_speech_is_an_error(api: SpeechApi, answer: web.Response, reason: str) -> None:
    api.answers.append(answer)
    with pytest.raises(ChannelError, match=reason):
        await synthesizer(api.url).synthesize("hello")


async def test_an_api_that_hangs_or_is_away_ends_in_an_error(api: SpeechApi) -> None:
    api.gate.clear()
    with pytest.raises(ChannelError, match="longer than 60 s"):
        await synthesizer(api.url, VirtualClock()).synthesize("hello")
    with pytest.raises(ChannelError, match="cannot be reached"):
        await synthesizer("http://127.0.0.1:9").synthesize("hello")


def test_the_settings_make_a_synthesizer_only_with_a_url_and_a_key_that_is_there(tmp_path: Path) -> None:
    def made(**section: Any) -> SpeechSynthesizer | None:
        settings = Settings.from_mapping({"Channels": {"Speech": section}})
        return create_speech_synthesizer(settings, {"KEY": "k"}, SystemClock())

    assert made() is None
    assert made(Url="http://127.0.0.1:1/v1") is not None
    assert made(Url="http://127.0.0.1:1/v1", Key={"$env": "KEY"}, Format="ogg", Reply="always") is not None
    assert made(Url="http://127.0.0.1:1/v1", Reply="Never") is None
    with pytest.raises(ChannelError, match=r"Channels\.Speech\.Key is empty"):
        made(Url="http://127.0.0.1:1/v1", Key={"$env": "GONE"})
