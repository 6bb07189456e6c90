"""`Local`: a Bot API server with `--local` on this machine keeps files on its disk and takes larger ones."""

import os
from pathlib import Path

import pytest

from sophon import Services
from sophon.errors import SettingsError
from sophon_channels.contract import ChannelAttachment, OutboundMessage, SendSucceeded, SendUndeliverable
from sophon_channels.errors import ChannelError
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.telegram.api.uploads import MEGABYTE
from tests.channels.telegram.bot_api import TOKEN, BotApi
from tests.channels.telegram.conftest import Open

FILE = ChannelAttachment("f1", "document", "log.txt")


@pytest.fixture
def kept(api: BotApi, tmp_path: Path) -> Path:
    """A file on the disk of the server."""
    file = tmp_path / "server" / TOKEN / "documents" / "log.txt"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"log")
    api.files["f1"] = {"file_id": "f1", "file_unique_id": "u", "file_path": str(file), "file_size": 3}
    return file


async def test_a_received_file_is_read_from_the_disk_of_the_server(opened: Open, kept: Path, tmp_path: Path) -> None:
    channel = await opened(local=True)
    assert await channel.download_attachment(FILE, str(tmp_path / "got"), max_bytes=10) == 3
    assert (tmp_path / "got").read_bytes() == b"log"


async def test_a_path_of_a_disk_is_not_read_without_the_setting(opened: Open, kept: Path, tmp_path: Path) -> None:
    with pytest.raises(ChannelError, match="could not be downloaded"):
        await (await opened()).download_attachment(FILE, str(tmp_path / "got"), max_bytes=10)


@pytest.mark.parametrize("trouble", ["gone", "link", "pipe", "large", "cut"])
async def test_a_file_that_is_not_as_it_should_be_leaves_nothing_behind(
    opened: Open, api: BotApi, kept: Path, tmp_path: Path, trouble: str
) -> None:
    if trouble in ("gone", "link", "pipe"):
        kept.unlink()
    if trouble == "link":
        kept.symlink_to("/etc/hostname")
    if trouble == "pipe":
        os.mkfifo(kept)
    if trouble == "large":
        del api.files["f1"]["file_size"]
        kept.write_bytes(b"x" * 11)
    if trouble == "cut":
        kept.write_bytes(b"lo")
    words = {
        "gone": "not where",
        "link": "not in the folder",
        "pipe": "damaged|no regular",
        "large": "too large",
        "cut": "damaged",
    }
    with pytest.raises(ChannelError, match=words[trouble]):
        await (await opened(local=True)).download_attachment(FILE, str(tmp_path / "got"), max_bytes=10)
    assert not (tmp_path / "got").exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "{}/../../../outside.txt"])
async def test_no_other_file_of_this_machine_is_read(
    opened: Open, api: BotApi, kept: Path, tmp_path: Path, path: str
) -> None:
    (tmp_path / "outside.txt").write_text("abc")
    api.files["f1"] = {"file_id": "f1", "file_unique_id": "u", "file_path": path.format(kept.parent)}
    with pytest.raises(ChannelError, match="not in the folder of this bot"):
        await (await opened(local=True)).download_attachment(FILE, str(tmp_path / "got"), max_bytes=10_000)
    assert not (tmp_path / "got").exists()


@pytest.mark.parametrize(("local", "result"), [(True, SendSucceeded), (False, SendUndeliverable)])
async def test_a_large_file_is_sent_to_a_local_server_only(
    opened: Open, api: BotApi, tmp_path: Path, local: bool, result: type
) -> None:
    api.largest["document"] = 2000 * MEGABYTE
    large = tmp_path.resolve() / "large.bin"
    with large.open("wb") as stream:
        stream.truncate(51 * MEGABYTE)
    channel = await opened(local=local)
    assert channel.max_file_bytes == (2000 if local else 50) * MEGABYTE
    assert bool(channel.find_file_problem("application/zip", 51 * MEGABYTE)) is not local
    [payload] = channel.render_payloads(OutboundMessage("", file_path=str(large)))
    sent = await channel.send(OutboundEntry("e", None, "telegram", "123456", "5", "note", payload, attempts=1))
    assert isinstance(sent, result)
    assert [len(content) for _, _, content in api.uploads] == ([51 * MEGABYTE] if local else [])


def test_a_server_of_telegram_is_not_local() -> None:
    with pytest.raises(SettingsError, match="only a server of one's own runs with --local"):
        Services(settings={"Channels": {"Telegram": {"Local": True}}})
