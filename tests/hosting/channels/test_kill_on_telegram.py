"""A host that is killed while a preview grows on Telegram: afterwards the chat shows the answer in its place."""

import asyncio
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import pytest

from tests.channels.telegram.bot_api import TOKEN, Answer, BotApi
from tests.hosting.channels.test_platforms import ADA, update
from tests.programs import Program, program

__all__ = ["program"]

PATIENCE_SECONDS = 240
"""A test that would hang fails instead: the host starts twice, and loads the Telegram library each time."""


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi().serving() as server:
        yield server
    assert server.problems == []


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
