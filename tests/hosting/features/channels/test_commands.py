"""`sophon channels add`: each secret is tried, kept in a private file and shown nowhere; wrong input is one line."""

import asyncio
import json
import os
import pty
import stat
import sys
from pathlib import Path

from sophon.settings.loader import load_settings
from sophon_hosting.settings.channels import ChannelsSettings
from tests.channels.telegram.bot_api import TOKEN as BOT_TOKEN
from tests.channels.telegram.bot_api import BotApi
from tests.channels.telegram.conftest import api as api
from tests.channels.whatsapp.conftest import graph as graph
from tests.channels.whatsapp.graph_api import NUMBER_ID, SECRET, TOKEN, GraphApi
from tests.fork_server import ForkedProcess
from tests.hosting.conftest import clean_environment
from tests.hosting.programs.test_init_dialogue import Terminal


async def run(folder: Path, *arguments: str, said: str = "", **variables: str) -> tuple[int, str, str]:
    """Run the command with lines on its standard input."""
    environment = {**clean_environment(folder), **variables}
    process = ForkedProcess(("channels", "add", *arguments), folder, environment, lines=said)
    out, err = await asyncio.to_thread(process.communicate, 60)
    return process.wait(), out, err


class Dialogue(Terminal):
    """The command on a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.output, self._seen = "", 0
        process, self._terminal = pty.fork()
        if process == 0:
            os.chdir(folder)
            command = [sys.executable, "-m", "sophon_hosting.cli", "channels", "add", *arguments]
            os.execve(sys.executable, command, clean_environment(folder))
        self._process = process


def talk_about_telegram(folder: Path, base: str) -> Dialogue:
    dialogue = Dialogue(folder, "telegram", "--api-base", base)
    dialogue.until("shown): ")
    dialogue.say("987654:wrong-token-000000")
    dialogue.until("Telegram rejects the token")
    dialogue.until("shown): ")
    dialogue.say(BOT_TOKEN)
    dialogue.until("the token belongs to @")
    dialogue.until("by pairing): ")
    dialogue.say("ada")
    dialogue.until("'ada' is no id")
    dialogue.until("by pairing): ")
    dialogue.say("111222333")
    dialogue.until("Telegram was added to")
    return dialogue


async def test_a_dialogue_on_a_terminal_tries_the_token_and_keeps_it_private(api: BotApi, tmp_path: Path) -> None:
    dialogue = await asyncio.to_thread(talk_about_telegram, tmp_path, api.base)
    assert await asyncio.to_thread(dialogue.end) == 0
    assert BOT_TOKEN not in dialogue.output
    assert "sophon doctor" in dialogue.output
    telegram = load_settings(folder=tmp_path, environment={}).channels.telegram
    assert (telegram.enabled, telegram.mode, telegram.approvers) == (True, "Polling", ("111222333",))
    assert telegram.token is not None
    assert telegram.token.resolve({}) == BOT_TOKEN
    key = tmp_path / "keys" / "telegram_token"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert BOT_TOKEN not in (tmp_path / "appsettings.json").read_text()


async def test_a_pipe_with_options_sets_up_a_webhook_and_keeps_what_was_there(api: BotApi, tmp_path: Path) -> None:
    file = tmp_path / "appsettings.json"
    file.write_text('{"Other": 1, "Sophon": {"channels": {"telegram": {"GroupPolicy": "All"}}}}')
    given = ("--token", "env:BOT", "--approvers", "", "--public-url", "https://chat.example", "--api-base", api.base)
    code, out, err = await run(tmp_path, "telegram", *given, BOT=BOT_TOKEN)
    assert (code, err) == (0, ""), err
    assert "sophon pairing approve" in out
    written = json.loads(file.read_text())
    assert written["Other"] == 1
    assert list(written["Sophon"]["channels"]) == ["telegram"]
    settings = load_settings(folder=tmp_path, environment={})
    telegram = settings.section(ChannelsSettings).telegram
    assert (telegram.mode, telegram.group_policy, settings.public_url) == ("Webhook", "All", "https://chat.example")
    assert telegram.webhook_secret is not None
    assert len(telegram.webhook_secret.resolve({}) or "") == 43


async def test_a_number_is_added_with_the_answers_of_a_pipe(graph: GraphApi, tmp_path: Path) -> None:
    said = f"{NUMBER_ID}\n{TOKEN}\n{SECRET}\n15550002222\n"
    code, out, err = await run(tmp_path, "whatsapp", "--api-base", graph.url, said=said)
    assert (code, err) == (0, ""), err
    assert "the number is +1 555 000 1111 (Sophon)" in out
    assert "keys/whatsapp_verifytoken" in out
    assert TOKEN not in out
    assert SECRET not in out
    whatsapp = load_settings(folder=tmp_path, environment={}).channels.whatsapp
    assert (whatsapp.phone_number_id, whatsapp.approvers) == (NUMBER_ID, ("15550002222",))
    secrets = (whatsapp.access_token, whatsapp.app_secret, whatsapp.verify_token)
    resolved = [each.resolve({}) for each in secrets if each is not None]
    assert resolved[:2] == [TOKEN, SECRET]
    assert len(resolved[2] or "") == 32


async def test_wrong_input_is_one_line_and_writes_nothing(graph: GraphApi, tmp_path: Path) -> None:
    for said, line in (
        ("+1 555 000 1111\n", "is no phone number id"),
        (f"{NUMBER_ID}\nwrong\n", "Meta rejects the access token"),
        (f"99{NUMBER_ID}\n{TOKEN}\n", "Meta has no number with the id"),
        (f"{NUMBER_ID}\n{TOKEN}\nwrong\n", "Meta does not accept this app secret"),
        (f"{NUMBER_ID}\n{TOKEN}\n", "there is no answer to 'App secret"),
        (f"{NUMBER_ID}\n{TOKEN}\n{SECRET}\nada\n", "'ada' is no id"),
    ):
        code, _, err = await run(tmp_path, "whatsapp", "--api-base", graph.url, said=said)
        assert (code != 0, line in err, len(err.strip().splitlines())) == (True, True, 1), (line, err)
        assert TOKEN not in err, line
        assert list(tmp_path.iterdir()) == [], line


async def test_wrong_options_are_one_line(tmp_path: Path) -> None:
    for given, line in (
        (("--token", BOT_TOKEN), "must be a reference"),
        (("--token", "env:NOWHERE"), "NOWHERE is missing or empty"),
        (("--token", "env:BOT", "--public-url", "chat"), "PublicUrl"),
        (("--token", "env:WORD"), "is not a Telegram token"),
    ):
        code, _, err = await run(tmp_path, "telegram", *given, BOT=BOT_TOKEN, WORD="word")
        assert (code != 0, line in err) == (True, True), (line, err)
        assert BOT_TOKEN not in err, line
        assert list(tmp_path.iterdir()) == [], line
