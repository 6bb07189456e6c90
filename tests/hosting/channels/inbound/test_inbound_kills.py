"""Kills of a real process on the way in: a transcription, an edit of a queued message, and the history of a group."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.channels.telegram.bot_api import BOT, TOKEN, BotApi
from tests.hosting.channels.inbound.test_transcription import TranscriptionApi
from tests.hosting.channels.inbound.test_transcription import api as speech
from tests.hosting.channels.test_platforms import ADA, SOON, update
from tests.programs import Program, Serving, program

__all__ = ["program", "speech"]

PATIENCE_SECONDS = 240
"""A test that would hang fails instead: the fork server loads the Telegram library, which takes seconds."""
GROUP = {"id": -1001234567890, "type": "supergroup", "title": "Ops"}


def prepared(program: Any, api: BotApi, monkeypatch: pytest.MonkeyPatch, channels: Any = None, **more: Any) -> Program:
    """A program on Telegram."""
    monkeypatch.setenv("BOT", TOKEN)
    monkeypatch.setenv("SPEECH", "k")
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])], **more}
    here: Program = program(Channels={"Telegram": telegram, **(channels or {})})
    here.imports = ("aiogram",)
    return here


async def started(here: Program) -> Serving:
    return await asyncio.to_thread(here.serve)


async def killed(serving: Serving) -> None:
    assert (await serving.ended(signal.SIGKILL))[0] == -signal.SIGKILL


async def answer_with(part: str, api: BotApi) -> str:
    """The text that was sent with a part, once it was."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := [each["text"] for each in api.of("sendMessage") if part in each["text"]]):
            await api.called("sendMessage", len(api.of("sendMessage")) + 1)
    return str(found[0])


def count_runs(here: Program) -> int:
    [file] = here.folder.glob("data/*.db")
    with closing(sqlite3.connect(file)) as database:
        return int(database.execute("SELECT count(*) FROM runs").fetchone()[0])


async def test_a_transcription_that_a_kill_interrupts_is_made_by_the_next_process(
    api: BotApi, speech: TranscriptionApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcription = {"Transcription": {"Url": speech.url, "Key": {"$env": "SPEECH"}}}
    here = prepared(program, api, monkeypatch, transcription)
    api.files["v"] = {"file_id": "v", "file_unique_id": "u", "file_size": 3, "file_path": "v.oga"}
    api.contents["v.oga"] = b"Ogg"
    voice = update(1, "")
    del voice["message"]["text"]
    voice["message"]["voice"] = {
        "file_id": "v",
        "file_unique_id": "u",
        "duration": 1,
        "mime_type": "audio/ogg",
        "file_size": 3,
    }
    speech.is_hanging = True
    first = await started(here)
    await api.deliver(voice)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await speech.asked.wait()
    await killed(first)
    speech.is_hanging = False
    await started(here)
    said = await answer_with("BUY MILK", api)
    assert said.count("BUY MILK") == 1
    assert len(speech.calls) == 2
    assert count_runs(here) == 1


async def test_an_edit_of_a_queued_message_is_in_its_turn_after_a_kill(
    api: BotApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = prepared(program, api, monkeypatch)
    first = await started(here)
    await api.deliver(update(1, "wait"), update(2, "secnod"))
    corrected = {**update(2, "second")["message"], "edit_date": 5}
    await api.deliver({"update_id": 3, "edited_message": corrected})
    async with asyncio.timeout(PATIENCE_SECONDS):
        await api.until_confirmed(4)
    await killed(first)
    (here.folder / "go").touch()
    await started(here)
    await answer_with("SECOND", api)
    answers = [each["text"] for each in api.of("sendMessage")]
    assert not any("SECNOD" in each for each in answers)
    assert sum("SECOND" in each and "♻️" not in each for each in answers) == 1
    assert sum(each == "WAIT" for each in answers) == 1
    assert count_runs(here) == 2


def in_group(number: int, text: str) -> dict[str, Any]:
    """A message in a group; one that names the bot is a mention."""
    message: dict[str, Any] = {"message_id": number, "date": SOON, "chat": GROUP, "from": ADA, "text": text}
    name = f"@{BOT['username']}"
    if text.startswith(name):
        message["entities"] = [{"type": "mention", "offset": 0, "length": len(name)}]
    return {"update_id": number, "message": message}


async def test_the_history_of_a_group_survives_a_kill_and_is_shown_once(
    api: BotApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = prepared(program, api, monkeypatch, AllowedGroups=[str(GROUP["id"])], GroupHistory={str(GROUP["id"]): 20})
    first = await started(here)
    await api.deliver(in_group(1, "apples"), in_group(2, "pears"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await api.until_confirmed(3)
    await killed(first)
    second = await started(here)
    await api.deliver(in_group(3, "@sophon_bot which?"))
    said = await answer_with("WHICH?", api)
    assert (said.count("ADA: APPLES"), said.count("ADA: PEARS")) == (1, 1)
    await killed(second)
    await started(here)
    await api.deliver(in_group(4, "@sophon_bot and now?"))
    assert "APPLES" not in await answer_with("AND NOW?", api)
    assert count_runs(here) == 2
