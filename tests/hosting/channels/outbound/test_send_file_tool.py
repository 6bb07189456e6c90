"""Files that the agent sends: once, into the chat that its turn came from, and from its own folder only."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall
from sophon_channels.contract import ChatLocation, FileReference, SendUndeliverable
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.testing import MAX_FILE_BYTES, SyntheticChannel
from sophon_hosting.channels.configured_channels import ConfiguredChannels
from sophon_hosting.channels.outbound.send_file_tool import (
    NO_CHAT_MESSAGE,
    TOOL_NAME,
    create_send_file_tool,
    detect_media_type,
)
from sophon_hosting.host import RunRequest
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.hosting.channels.conftest import Brain

ELSEWHERE = ChatLocation("77")


@dataclass
class Sender(Brain):
    """Sends the file that a message names, says what came of it, and can be stopped in between."""

    halts: bool = False
    told: list[str] = field(default_factory=list)

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if last.role == "user":
            paths = last.content.removeprefix("send ").split(" and ")
            calls = [
                ToolCall(f"c{n}", TOOL_NAME, {"path": path, "caption": "**look**"}) for n, path in enumerate(paths)
            ]
            return ModelResponse("", calls)
        self.told.append(last.content)
        self.reached.set()
        if self.halts:
            await self.gate.wait()
        return f"Done: {last.content}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files folder of the person who writes, in every chat with them alone."""
    path = tmp_path / "principals" / "synthetic_3a1"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def report(folder: Path) -> Path:
    path = folder / "reports" / "march.txt"
    path.parent.mkdir()
    path.write_bytes(b"figures")
    return path


async def test_a_file_is_sent_with_its_caption_before_the_answer_and_nowhere_else(start, report: Path) -> None:
    running = await start(brain=Sender())
    await running.channel.deliver_message("send reports/march.txt", location=ELSEWHERE)
    await running.channel.wait_for_text("Done", ELSEWHERE)
    file, answer = running.channel.sent
    assert running.channel.sent_files == [("march.txt", b"figures")]
    assert (file.chat, file.kind, file.payload["text"]) == ("77", "file", "**look**")
    assert file.payload["media_type"] == "text/plain"
    assert "(7 bytes) is queued for the person in this chat and not delivered yet" in answer.payload["text"]


async def test_two_files_of_one_reply_are_both_sent(start, report: Path, folder: Path) -> None:
    (folder / "b.txt").write_bytes(b"more")
    running = await start(brain=Sender())
    await running.channel.deliver_message("send reports/march.txt and b.txt")
    await running.channel.wait_for_text("Done")
    assert sorted(running.channel.sent_files) == [("b.txt", b"more"), ("march.txt", b"figures")]


async def test_two_turns_send_the_same_file_twice(start, report: Path) -> None:
    running = await start(brain=Sender())
    for count in (1, 2):
        await running.channel.deliver_message("send reports/march.txt")
        await running.channel.wait_until(lambda count=count: len(running.channel.sent) == 2 * count)
    assert running.channel.sent_files == [("march.txt", b"figures")] * 2


async def test_a_turn_that_is_cut_off_after_its_call_sends_the_file_once(start, report: Path) -> None:
    first = await start(brain=Sender(halts=True))
    await first.channel.deliver_message("send reports/march.txt")
    await first.brain.reached.wait()
    await first.channel.wait_until(lambda: bool(first.channel.sent_files))
    await first.end()
    again = await start(store=first.store, brain=Sender())
    await again.channel.wait_for_text("Done")
    assert (len(first.channel.sent_files), len(again.channel.sent_files)) == (1, 0)


async def test_a_turn_that_is_cut_off_within_its_call_sends_the_file_once(start, report: Path) -> None:
    store, kept = SqlHostStore("memory://"), asyncio.Event()
    add = store.outbox.add

    async def killed(entries: Sequence[OutboundEntry]) -> int:
        await add(entries)
        kept.set()
        return await asyncio.Event().wait() or 0

    store.outbox.add = killed  # type: ignore[method-assign] # the process ends before it hears that it is kept
    first = await start(store=store, channel=SyntheticChannel(start_error="not yet"), brain=Sender())
    origin = {"chat": "10", "kind": "direct", "place": {"chat": "10"}}
    await first.host.accept(RunRequest("send reports/march.txt", "s", "synthetic:1", "synthetic", "bot", "w1", origin))
    await kept.wait()
    await first.end()
    store.outbox.add = add  # type: ignore[method-assign]
    again = await start(store=store, brain=Sender())
    await again.channel.wait_for_text("Done")
    sent = len(first.channel.sent_files) + len(again.channel.sent_files)
    assert (sent, len(await store.outbox.list())) == (1, 2)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../secret.txt", "'..' is not allowed"),
        ("/srv/report.txt", "give one relative to the files folder"),
        ("link.txt", "it is a link"),
        ("way/secret.txt", "a link, not a folder"),
        ("reports", "it is a folder"),
        ("gone.txt", "it does not exist"),
        ("empty.txt", "0 bytes; an empty file cannot be sent"),
        ("large.txt", "the maximum here is 1,000,000 bytes"),
    ],
)
async def test_what_is_no_file_of_the_folder_is_not_sent(
    start, report: Path, folder: Path, tmp_path_factory: Any, path: str, said: str
) -> None:
    beside = tmp_path_factory.mktemp("beside")
    (beside / "secret.txt").write_bytes(b"secret")
    (folder / "link.txt").symlink_to(beside / "secret.txt")
    (folder / "way").symlink_to(beside)
    (folder / "empty.txt").touch()
    (folder / "large.txt").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    running = await start(brain=Sender())
    await running.channel.deliver_message(f"send {path}")
    assert said in await running.channel.wait_for_text("Done: error")
    assert running.channel.sent_files == []


class Choosy(SyntheticChannel):
    """Takes text only."""

    def find_file_problem(self, media_type: str, size: int) -> str:
        return "" if media_type == "text/plain" else f"files of the type {media_type or 'unknown'} are not accepted"


async def test_a_type_that_the_platform_does_not_take_is_refused_before_it_is_queued(start, folder: Path) -> None:
    (folder / "a.zip").write_bytes(b"PK\x03\x04")
    running = await start(channel=Choosy(), brain=Sender())
    await running.channel.deliver_message("send a.zip")
    said = await running.channel.wait_for_text("Done: error")
    assert "'a.zip' cannot be sent: files of the type application/zip are not accepted" in said
    assert "queued" not in said


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("README", "Grüße".encode(), "text/plain"),
        ("cut", ("x" * 4095 + "ü").encode(), "text/plain"),
        ("data", b"\x00\x01", ""),
        ("latin", b"Gr\xfc\xdfe", ""),
        ("a.pdf", b"text", "application/pdf"),
    ],
)
def test_text_of_an_unknown_ending_is_text(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert detect_media_type(tmp_path / name) == expected


async def test_a_turn_from_elsewhere_has_no_chat_to_send_to(start, report: Path) -> None:
    running = await start(brain=Sender())
    await running.host.accept(RunRequest("send reports/march.txt", "s", "local"))
    await running.brain.reached.wait()
    services = running.host.services
    await twelve(services).run(services.turn("send reports/march.txt"))
    assert running.brain.told == [f"error: {NO_CHAT_MESSAGE}"] * 2
    assert await running.store.outbox.list(channel="synthetic") == []


def test_without_a_channel_there_is_no_such_tool(tmp_path: Path) -> None:
    services = Services(store=host_store_from_url("memory://", folder=tmp_path))
    assert ConfiguredChannels(services, [], GroupMembership(services)).channels == []
    assert TOOL_NAME not in services.registry


def test_the_tool_tells_the_person_in_the_chat_and_needs_no_approval() -> None:
    tool = create_send_file_tool({}, lambda: None)
    assert "to the person in this chat" in tool.description
    assert (tool.risk.label, tool.idempotent) == ("low", True)


class Albums(SyntheticChannel):
    """Has albums of two files."""

    def group_files(self, files: Sequence[FileReference]) -> list[list[FileReference]]:
        return [list(files[start : start + 2]) for start in range(0, len(files), 2)]


@dataclass
class Packer(Brain):
    """Sends all files that a message names with one call."""

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if last.role != "user":
            return f"Done: {last.content}"
        path, *paths = last.content.removeprefix("send ").split(" and ")
        return ModelResponse("", [ToolCall("c", TOOL_NAME, {"path": path, "paths": paths, "caption": "look"})])


async def test_several_files_of_one_call_are_albums_with_one_entry_each(start, folder: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_text(name)
    running = await start(channel=Albums(), brain=Packer())
    await running.channel.deliver_message("send a.txt and b.txt and c.txt")
    assert "3 files (15 bytes) are queued" in await running.channel.wait_for_text("Done")
    album, single, _ = running.channel.sent
    assert [each["file_name"] for each in (album.payload, *album.payload["more_files"])] == ["a.txt", "b.txt"]
    assert (album.payload["text"], album.position) == ("look", 0)
    assert (single.payload["file_name"], single.payload["text"], single.position) == ("c.txt", "", 0)


async def test_a_chat_without_albums_gets_the_files_one_by_one(start, folder: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(name)
    running = await start(brain=Packer())
    await running.channel.deliver_message("send a.txt and b.txt")
    await running.channel.wait_for_text("Done")
    assert running.channel.sent_files == [("a.txt", b"a.txt"), ("b.txt", b"b.txt")]


async def test_of_several_files_none_is_queued_if_one_cannot_be_sent(start, folder: Path) -> None:
    (folder / "a.txt").write_text("a")
    running = await start(channel=Albums(), brain=Packer())
    await running.channel.deliver_message("send a.txt and gone.txt")
    assert "does not exist" in await running.channel.wait_for_text("Done: error")
    assert running.channel.sent_files == []


async def test_an_album_that_the_platform_refuses_is_told_with_all_its_files(start, folder: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(name)
    channel = Albums()
    channel.send_results.append(SendUndeliverable("no"))
    running = await start(channel=channel, brain=Packer())
    await running.channel.deliver_message("send a.txt and b.txt")
    assert "The album of 'a.txt', 'b.txt' was not delivered: no" in await running.channel.wait_for_text("album")
