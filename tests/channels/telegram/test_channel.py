"""The channel as a whole: how it starts, what it refuses to start with, files, and what the doctor finds."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sophon.testing import VirtualClock
from sophon_channels.contract import Channel, ChannelAttachment, SelfTestResult
from sophon_channels.errors import ChannelError
from sophon_channels.telegram.api.downloads import MAX_DOWNLOAD_BYTES
from sophon_channels.telegram.channel import TelegramChannel
from sophon_channels.telegram.webhook import WEBHOOK_PATH
from tests.channels.telegram.bot_api import CUT, TOKEN, Answer, BotApi
from tests.channels.telegram.conftest import Open
from tests.channels.telegram.parts import ENVIRONMENT, Box, message, settings

FILE = ChannelAttachment("f1", "document", name="log.txt")


async def test_it_starts_registers_its_commands_and_runs(opened: Open, api: BotApi) -> None:
    channel: Channel = await opened()
    (fields,) = api.of("setMyCommands")
    names = [command["command"] for command in fields["commands"]]
    assert names[:7] == ["start", "new", "stop", "status", "model", "usage", "last"]
    assert names[7:] == ["approve", "edit", "cancel", "reject", "answer", "pending", "help"]
    assert (channel.name, channel.account, channel.health.state) == ("telegram", "123456", "running")


async def test_a_webhook_in_the_way_of_polling_is_removed_and_nothing_pending_dropped(
    opened: Open, api: BotApi
) -> None:
    api.webhook["url"] = "https://old.example/hook"
    await opened()
    assert api.of("deleteWebhook") == [{"drop_pending_updates": False}]


@pytest.mark.parametrize(
    ("fields", "environment", "told"),
    [
        ({}, {}, "TELEGRAM_TOKEN is empty"),
        ({"Token": "nonsense"}, {}, "is not a Telegram token"),
        ({"Token": "123456:another-token-of-somebody"}, {}, "rejects the bot token"),
        ({"Mode": "Webhook"}, {"TELEGRAM_TOKEN": TOKEN}, "without one anyone could send messages as anyone"),
        ({"Mode": "Webhook", "WebhookSecret": "not allowed!"}, ENVIRONMENT, "characters that Telegram rejects"),
    ],
)
async def test_it_refuses_to_start_and_says_why(
    api: BotApi, box: Box, clock: VirtualClock, fields: dict[str, Any], environment: dict[str, str], told: str
) -> None:
    channel = TelegramChannel(settings(api.base, **fields), environment, clock)
    with pytest.raises(ChannelError, match=told) as raised:
        await channel.start(box)
    assert channel.health.state == "refused"
    assert TOKEN not in str(raised.value)
    await channel.stop()
    assert channel.health.state == "refused"


async def test_it_starts_without_telegram_and_goes_on_trying(
    opened: Open, api: BotApi, box: Box, clock: VirtualClock
) -> None:
    api.script("getMe", *[CUT] * 3)
    channel = await opened()
    assert channel.health.state == "failing"
    await api.deliver(message())
    await box.holding(1)
    assert channel.health.state == "running"
    assert len(clock.slept) == 2


async def test_a_token_that_is_refused_later_ends_the_trying(opened: Open, api: BotApi, clock: VirtualClock) -> None:
    api.script("getMe", CUT, Answer.error(401, "Unauthorized"))
    channel = await opened()
    await api.called("getMe", 2)
    await clock.sleep(600)
    assert channel.health.state == "refused"
    assert len(api.of("getMe")) == 2


async def test_commands_that_cannot_be_registered_hold_up_nothing(opened: Open, api: BotApi) -> None:
    api.script("setMyCommands", Answer.error(400, "Bad Request"))
    assert (await opened()).health.state == "running"


async def test_it_can_be_started_again(opened: Open, api: BotApi, box: Box) -> None:
    channel = await opened()
    await channel.stop()
    await channel.start(box)
    await api.deliver(message())
    await box.holding(1)


async def test_a_file_is_streamed_to_the_disk(opened: Open, api: BotApi, tmp_path: Path) -> None:
    content = bytes(range(256)) * 3000
    api.files["f1"] = {"file_id": "f1", "file_unique_id": "u", "file_path": "docs/log 1.txt", "file_size": len(content)}
    api.contents["docs/log 1.txt"] = content
    target = tmp_path / "log.txt"
    assert await (await opened()).download_attachment(FILE, str(target), max_bytes=MAX_DOWNLOAD_BYTES) == len(content)
    assert target.read_bytes() == content


async def test_a_file_is_downloaded_by_a_process_that_does_not_receive(
    opened: Open, api: BotApi, tmp_path: Path
) -> None:
    api.files["f1"] = {"file_id": "f1", "file_unique_id": "u", "file_path": "log.txt", "file_size": 3}
    api.contents["log.txt"] = b"log"
    channel = await opened()
    await channel.stop()
    assert await channel.download_attachment(FILE, str(tmp_path / "log.txt"), max_bytes=MAX_DOWNLOAD_BYTES) == 3


@pytest.mark.parametrize(
    ("attachment", "told", "actual", "problem"),
    [
        (
            ChannelAttachment("f1", "video", size=MAX_DOWNLOAD_BYTES + 1),
            10,
            10,
            "the video is too large: 20971521 bytes",
        ),
        (FILE, 2000, 2000, "'log.txt' is too large: 2000 bytes, and at most 1000"),
        (FILE, None, 2000, "too large"),
        (FILE, 900, 800, "is damaged: 800 of 900 bytes arrived"),
        (FILE, 900, None, "could not be downloaded: download: 404"),
        (ChannelAttachment("gone", "image"), 10, 10, "wrong file_id"),
    ],
)
async def test_a_file_that_is_not_as_it_should_be_leaves_nothing_behind(
    opened: Open,
    api: BotApi,
    tmp_path: Path,
    attachment: ChannelAttachment,
    told: int | None,
    actual: int | None,
    problem: str,
) -> None:
    size = {} if told is None else {"file_size": told}
    api.files["f1"] = {"file_id": "f1", "file_unique_id": "u", "file_path": "docs/log.txt", **size}
    if actual is not None:
        api.contents["docs/log.txt"] = b"x" * actual
    with pytest.raises(ChannelError, match=problem) as raised:
        await (await opened()).download_attachment(attachment, str(tmp_path / "log.txt"), max_bytes=1000)
    assert list(tmp_path.iterdir()) == []
    assert TOKEN not in str(raised.value)


async def test_a_file_that_cannot_be_written_says_so(opened: Open, api: BotApi, tmp_path: Path) -> None:
    api.files["f1"] = {"file_id": "f1", "file_unique_id": "u", "file_path": "log.txt"}
    api.contents["log.txt"] = b"x"
    with pytest.raises(ChannelError, match="could not be saved: No such file"):
        await (await opened()).download_attachment(FILE, str(tmp_path / "nowhere" / "log.txt"), max_bytes=1000)


async def findings(api: BotApi, *, webhook_url: str | None = None, **fields: Any) -> list[SelfTestResult]:
    environment = {**ENVIRONMENT, **fields.pop("environment", {})}
    channel = TelegramChannel(settings(api.base, **fields), environment, VirtualClock(), webhook_url=webhook_url)
    return await channel.run_self_test()


async def test_the_doctor_finds_nothing_wrong_and_changes_nothing(api: BotApi) -> None:
    found = await findings(api)
    assert all(finding.ok for finding in found)
    assert found[0].summary == "the token belongs to @sophon_bot"
    assert {call.method for call in api.calls} == {"getMe", "getWebhookInfo"}


HOOK = f"https://bot.example{WEBHOOK_PATH}"


@pytest.mark.parametrize(
    ("told", "fields", "problem"),
    [
        ({"url": "https://old.example/secret"}, {}, "a webhook is set (at old.example)"),
        ({"pending_update_count": 500}, {}, "500 updates are pending"),
        ({}, {"GroupPolicy": "All"}, "privacy mode is on, and GroupPolicy All"),
        ({}, {"MentionPatterns": ["Sophon"]}, "privacy mode is on, and MentionPatterns needs"),
        ({}, {"Token": "123456:another-token-of-somebody"}, "Telegram rejects the token"),
        ({}, {"Token": "nonsense"}, "is not a Telegram token"),
        ({}, {"environment": {"TELEGRAM_TOKEN": ""}}, "Telegram has no token"),
        ({}, {"ApiBase": "http://127.0.0.1:9"}, "Telegram cannot be reached"),
        ({}, {"Mode": "Webhook"}, "no webhook is set"),
        ({}, {"Mode": "Webhook", "WebhookSecret": "a b"}, "characters that Telegram rejects"),
        ({"url": "https://old.example/x"}, {"Mode": "Webhook", "webhook_url": HOOK}, "is set to old.example"),
        ({"url": "http://bot.example/x"}, {"Mode": "Webhook"}, "not https"),
        ({"url": f"https://bot.example:8080{WEBHOOK_PATH}"}, {"Mode": "Webhook"}, "does not deliver to port 8080"),
        ({"url": "https://bot.example/hook"}, {"Mode": "Webhook"}, f"path of the webhook URL is not {WEBHOOK_PATH}"),
        ({"url": HOOK, "last_error_message": "Wrong response: 401"}, {"Mode": "Webhook"}, "Wrong response: 401"),
        (
            {"url": HOOK, "allowed_updates": ["message"]},
            {"Mode": "Webhook"},
            "does not deliver messages and button presses",
        ),
    ],
)
async def test_the_doctor_names_the_usual_mistakes(
    api: BotApi, told: dict[str, Any], fields: dict[str, Any], problem: str
) -> None:
    api.webhook.update(told)
    wrong = [finding for finding in await findings(api, **fields) if not finding.ok]
    assert len(wrong) == 1
    assert problem in wrong[0].summary
    assert wrong[0].fix or ";" in wrong[0].summary


async def test_a_bot_that_may_not_join_groups_is_named(api: BotApi) -> None:
    api.me["can_join_groups"] = False
    assert any("cannot be added to groups" in finding.summary for finding in await findings(api))
    assert all(finding.ok for finding in await findings(api, GroupPolicy="Disabled"))


def test_a_host_without_the_channel_does_not_import_aiogram() -> None:
    script = "import sys, sophon_channels.telegram.channel; sys.exit('aiogram' in sys.modules)"
    path = [str(Path(TelegramChannel.__module__)), *sys.path]
    found = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:] = {path!r}; {script}"], check=False)
    assert found.returncode == 0
