"""A host that is killed while a preview grows on Telegram: afterwards the chat shows the answer in its place."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from sophon.principals import channel_person_principal, files_folder
from sophon.settings import Settings
from tests.channels.telegram.bot_api import HANG, TOKEN, Answer, BotApi
from tests.hosting.channels.test_platforms import ADA, update
from tests.programs import Program, program

__all__ = ["program"]

PATIENCE_SECONDS = 240
"""A test that would hang fails instead: the fork server loads the Telegram library, which takes seconds."""


def stored_previews(here: Program) -> list[str]:
    """The message ids of the previews that the program has stored."""
    [file] = here.folder.glob("data/*.db")
    with closing(sqlite3.connect(file)) as database:
        return [value for (value,) in database.execute("SELECT value FROM notes WHERE kind = 'preview'")]


async def killed(program: Any, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> tuple[Program, int]:
    """A program that was killed with a preview in the chat, and the number of the preview's message."""
    monkeypatch.setenv("BOT", TOKEN)
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}
    here = program(Channels={"Telegram": telegram})
    here.imports = ("aiogram",)
    serving = await asyncio.to_thread(here.serve)
    await api.deliver(update(1, "tell"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        [preview] = await api.called("sendMessage")
        await api.until_confirmed(2)
        # Telegram has it before the host knows its id: wait until that is stored.
        while not await asyncio.to_thread(stored_previews, here):
            await api.called("sendMessage")
    assert preview["text"] == "one "
    assert (await serving.ended(signal.SIGKILL))[0] == -signal.SIGKILL
    [(_, number)] = api.messages
    return here, number


async def resumed(here: Program, api: BotApi) -> None:
    """Start the program again; its turn ends once the channel runs, so that the answer is sent at once."""
    polls = len(api.of("getUpdates"))
    await asyncio.to_thread(here.serve)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await api.called("getUpdates", polls + 1)
    (here.folder / "go").touch()


async def sent(api: BotApi, method: str, text: str) -> dict[str, Any]:
    """The call of a method that sends a text, once it has come."""
    count = 1
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(fields["text"] == text for fields in await api.called(method, count)):
            count = len(api.of(method)) + 1
    return next(fields for fields in api.of(method) if fields["text"] == text)


async def test_the_answer_is_edited_into_the_preview_of_the_killed_process(
    api: BotApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, number = await killed(program, api, monkeypatch)
    await resumed(here, api)
    edit = await sent(api, "editMessageText", "one two")
    assert (edit["chat_id"], edit["message_id"]) == (ADA["id"], number)
    assert len(api.of("sendMessage")) == 1


async def test_if_the_preview_was_deleted_meanwhile_the_answer_is_a_new_message(
    api: BotApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, number = await killed(program, api, monkeypatch)
    del api.messages[next(key for key in api.messages if key[1] == number)]
    api.script("editMessageText", *[Answer.error(400, "Bad Request: message to edit not found")] * 9)
    await resumed(here, api)
    await sent(api, "sendMessage", "one two")


def piece(number: int, caption: str) -> dict[str, Any]:
    """A photo of an album."""
    found = update(number, "")
    photo = [{"file_id": f"f{number}", "file_unique_id": f"u{number}", "width": 9, "height": 9, "file_size": 3}]
    message = {key: value for key, value in found["message"].items() if key != "text"}
    return {**found, "message": {**message, "media_group_id": "album", "photo": photo, "caption": caption}}


SLOW_ALBUMS = """
from sophon_hosting.channels.inbound import message_merging

message_merging.GATHER_SECONDS = message_merging.MAX_GATHER_SECONDS = 3600
"""
"""For the first process: the kill comes before it stops to wait for further pieces."""


async def test_an_album_whose_pieces_come_before_and_after_a_kill_is_one_message(
    api: BotApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT", TOKEN)
    for number in (1, 2, 3):
        file = {"file_id": f"f{number}", "file_unique_id": f"u{number}", "file_size": 3, "file_path": f"{number}.jpg"}
        api.files[f"f{number}"], api.contents[f"{number}.jpg"] = file, b"abc"
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}
    here = program(Channels={"Telegram": telegram})
    brain = here.folder / "brain.py"
    usual = brain.read_text()
    brain.write_text(usual + SLOW_ALBUMS)
    serving = await asyncio.to_thread(here.serve)
    await api.deliver(piece(1, "first"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await api.until_confirmed(2)
    assert (await serving.ended(signal.SIGKILL))[0] == -signal.SIGKILL
    brain.write_text(usual)
    await api.deliver(piece(2, "second"), piece(3, "third"))
    await asyncio.to_thread(here.serve)
    async with asyncio.timeout(PATIENCE_SECONDS):
        [answer] = await api.called("sendMessage")
    for caption in ("FIRST", "SECOND", "THIRD"):
        assert answer["text"].count(caption) == 1
    [file] = here.folder.glob("data/*.db")
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT count(*) FROM runs").fetchone() == (1,)


LIMITED = """
from sophon_hosting.channels.inbound import message_merging

message_merging.MAX_DEBOUNCE_SECONDS = 8
"""
"""For the second process, which is not to wait for the whole time again."""


async def test_quick_messages_before_and_after_a_kill_are_one_message_and_an_edit_is_in_it(
    api: BotApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT", TOKEN)
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}
    here = program(Channels={"Telegram": {**telegram, "DebounceSeconds": 30}})
    brain = here.folder / "brain.py"
    serving = await asyncio.to_thread(here.serve)
    await api.deliver(update(1, "first"), update(2, "secnod"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await api.until_confirmed(3)
    assert (await serving.ended(signal.SIGKILL))[0] == -signal.SIGKILL
    brain.write_text(brain.read_text() + LIMITED)
    correction = update(2, "second")["message"]
    await api.deliver({"update_id": 3, "edited_message": {**correction, "edit_date": 5}}, update(4, "third"))
    await asyncio.to_thread(here.serve)
    async with asyncio.timeout(PATIENCE_SECONDS):
        [answer] = await api.called("sendMessage")
    assert [line for line in answer["text"].splitlines() if line.isupper()] == ["FIRST", "SECOND", "THIRD"]
    [file] = here.folder.glob("data/*.db")
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def pressed(number: int, data: str) -> dict[str, Any]:
    """The press of a button."""
    message = {"message_id": 2, "date": 1, "chat": {"id": ADA["id"], "type": "private"}}
    query = {"id": str(number), "from": ADA, "chat_instance": "x", "data": data, "message": message}
    return {"update_id": number, "callback_query": query}


def buttons(fields: dict[str, Any]) -> list[str]:
    return [each["callback_data"] for row in fields["reply_markup"]["inline_keyboard"] for each in row]


async def starting(part: str, api: BotApi) -> dict[str, Any]:
    """The message that contains a text, once it was sent."""
    count = 1
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(part in fields["text"] for fields in await api.called("sendMessage", count)):
            count = len(api.of("sendMessage")) + 1
    return next(fields for fields in api.of("sendMessage") if part in fields["text"])


async def test_a_call_is_edited_over_three_processes_and_runs_once(
    api: BotApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT", TOKEN)
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}
    here = program(Channels={"Telegram": telegram})
    here.imports = ("aiogram",)
    first = await asyncio.to_thread(here.serve)
    await api.deliver(update(1, "pay Bob"))
    prompt = await starting("May pay run?", api)
    await api.deliver(pressed(2, buttons(prompt)[3]))
    await starting("Write the new value of to", api)
    assert (await first.ended(signal.SIGKILL))[0] == -signal.SIGKILL
    await api.deliver(update(3, "Carol"))  # while nobody listens
    second = await asyncio.to_thread(here.serve)
    version = await starting("So pay would run", api)
    assert (await second.ended(signal.SIGKILL))[0] == -signal.SIGKILL
    assert here.paid() == []
    await asyncio.to_thread(here.serve)
    await api.deliver(pressed(4, buttons(version)[0]))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any("PAID CAROL" in fields["text"] for fields in api.of("sendMessage")):
            await api.called("sendMessage", len(api.of("sendMessage")) + 1)
    assert here.paid() == ["Carol"]
    [file] = here.folder.glob("data/*.db")
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT count(*) FROM runs").fetchone() == (1,)
    versions = [fields for fields in api.of("sendMessage") if "So pay would run" in fields["text"]]
    # A kill before the answer of the platform was stored may repeat a message, with the mark.
    assert sum("♻️" not in fields["text"] for fields in versions) == 1


SENDS_FILES = """
without_files = answer


async def answer(request):
    if request.messages[-1].content == "send":
        arguments = {"path": "a.txt", "paths": ["b.txt"], "caption": "look"}
        return ModelResponse("", [ToolCall("c", "chat.send_file", arguments)])
    return await without_files(request)
"""


async def test_an_album_that_was_under_way_at_a_kill_is_sent_again_with_its_mark(
    api: BotApi, program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT", TOKEN)
    telegram = {"Enabled": True, "Token": {"$env": "BOT"}, "ApiBase": api.base, "AllowFrom": [str(ADA["id"])]}
    here = program(Channels={"Telegram": telegram})
    here.imports = ("aiogram",)
    brain = here.folder / "brain.py"
    brain.write_text(brain.read_text() + SENDS_FILES)
    owner = channel_person_principal("telegram", str(ADA["id"]))
    folder = here.folder / Settings().tools.files_root / files_folder(owner)
    folder.mkdir(parents=True)
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(name)
    api.script("sendMediaGroup", HANG)
    first = await asyncio.to_thread(here.serve)
    await api.deliver(update(1, "send"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await api.called("sendMediaGroup")
    assert (await first.ended(signal.SIGKILL))[0] == -signal.SIGKILL
    await asyncio.to_thread(here.serve)
    async with asyncio.timeout(PATIENCE_SECONDS):
        _, again = await api.called("sendMediaGroup", 2)
    first_file, second_file = again["media"]
    assert "♻️" in first_file["caption"]
    assert first_file["caption"].endswith("look")
    assert "caption" not in second_file
    assert {content for _, _, content in api.uploads} == {b"a.txt", b"b.txt"}
