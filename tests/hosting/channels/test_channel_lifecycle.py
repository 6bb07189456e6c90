"""What lasts: a failed start is tried again, what was not told is told later, no chat is in a foreign session."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sophon.approvals import Decision
from sophon.errors import StoreError
from sophon.testing import VirtualClock
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ChannelAttachment, ChatLocation
from sophon_channels.errors import ChannelError
from sophon_channels.testing import DEFAULT_LOCATION, SyntheticChannel
from sophon_hosting.channels import channel_role, connected_channel
from sophon_hosting.channels.inbound.attachment_downloads import AttachmentDownloader
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore

GROUP = ChatLocation("-20", "group")


async def asked(running: Any) -> None:
    await running.channel.deliver_message("pay Bob")
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))


async def test_a_channel_begins_again_after_a_failure_of_the_store(start, monkeypatch) -> None:
    monkeypatch.setattr(connected_channel, "START_RETRY_SECONDS", 0)
    store = SqlHostStore("memory://")
    kept, failures = store.channel_state.expire, [StoreError("memory", "the disk is full")]

    async def expire(*some: Any) -> int:
        if failures:
            raise failures.pop()
        return await kept(*some)

    store.channel_state.expire = expire  # type: ignore[method-assign] # a store that fails once
    running = await start(store=store)
    await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("You said: hello")


async def test_what_another_process_decided_is_told_in_the_chat(start, monkeypatch) -> None:
    monkeypatch.setattr(connected_channel, "PROMPT_CHECK_SECONDS", 0)
    running = await start()
    await asked(running)
    [record] = await running.store.approvals.list()
    now = running.host.services.clock.now()
    await running.store.approvals.decide(record.request.id, replace(Decision.reject("no"), decided_by="local"), now)
    await running.channel.wait_for_text("❌ Rejected by local")


async def test_a_session_that_somebody_made_under_the_name_of_a_chat_hears_nothing_of_it(start) -> None:
    store = SqlHostStore("memory://")
    await store.sessions.get_or_create("synthetic-10", "bob")
    running = await start(store=store)
    await running.channel.deliver_message("a secret")
    await running.channel.wait_for_text("You said: a secret")
    await running.channel.deliver_message("another")
    await running.channel.wait_for_text("You said: another")
    assert await running.texts("synthetic-10") == []
    [own] = await store.sessions.list("synthetic:1")
    assert await running.texts(own.id) == ["a secret", "another"]


async def test_a_stop_that_comes_days_late_stops_nothing_that_began_since(start) -> None:
    running = await start()
    await running.channel.deliver_message("wait")
    await running.brain.reached.wait()
    await running.channel.deliver_message("/stop", is_late=True)
    await running.channel.wait_for_text("Nothing is running.")
    running.brain.gate.set()
    await running.channel.wait_for_text("You said: wait")


class Torn(SyntheticChannel):
    """Ends, or hangs, in the middle of a file."""

    def __init__(self, *, hangs: bool = False) -> None:
        super().__init__(attachment_contents={"f": b"the whole file"})
        self.hangs, self.torn = hangs, True

    async def download_attachment(self, attachment: ChannelAttachment, target: str, *, max_bytes: int) -> int:
        if not self.torn:
            return await super().download_attachment(attachment, target, max_bytes=max_bytes)
        await asyncio.to_thread(Path(target).write_bytes, b"the wh")
        if self.hangs:
            await asyncio.Event().wait()
        raise asyncio.CancelledError


@pytest.fixture
def run() -> Run:
    file = {"id": "f", "kind": "document", "name": "a.txt"}
    return Run(
        "r1", "s", channel="synthetic", text="look", origin={"chat": DEFAULT_LOCATION.key, "attachments": [file]}
    )


async def test_a_file_that_a_kill_tore_is_fetched_anew(run: Run, tmp_path: Path) -> None:
    channel = Torn()
    attachments = AttachmentDownloader({"synthetic": channel}, tmp_path, VirtualClock())
    with pytest.raises(asyncio.CancelledError):
        await attachments.prepare_run(run)
    channel.torn = False
    assert "14 bytes" in (await attachments.prepare_run(run)).text
    assert (tmp_path / "uploads/synthetic/r1/1-a.txt").read_bytes() == b"the whole file"


async def test_links_in_the_folder_of_tools_lead_nowhere(run: Run, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("the host's own")
    folder = tmp_path / "files" / "uploads/synthetic/r1"
    folder.mkdir(parents=True)
    for name in ("1-a.txt", "1-a.txt.part"):
        (folder / name).symlink_to(victim)
    channel = Torn()
    channel.torn = False
    done = await AttachmentDownloader({"synthetic": channel}, tmp_path / "files", VirtualClock()).prepare_run(run)
    assert victim.read_text() == "the host's own"
    assert "the host's own" not in done.text
    assert not (folder / "1-a.txt").is_symlink() or "could not be downloaded" in done.text


async def test_a_linked_folder_gets_no_file(run: Run, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "files/uploads").mkdir(parents=True)
    (tmp_path / "files/uploads/synthetic").symlink_to(outside)
    channel = Torn()
    channel.torn = False
    done = await AttachmentDownloader({"synthetic": channel}, tmp_path / "files", VirtualClock()).prepare_run(run)
    assert "could not be downloaded" in done.text
    assert [*outside.iterdir()] == []


async def test_a_platform_that_hangs_at_a_file_gives_the_worker_back(run: Run, tmp_path: Path) -> None:
    attachments = AttachmentDownloader({"synthetic": Torn(hangs=True)}, tmp_path, VirtualClock())
    waiting = asyncio.create_task(attachments.prepare_run(run))
    assert "could not be downloaded: the download took longer than 60 s" in (await waiting).text


async def test_a_command_to_another_bot_of_a_group_is_left_alone(start) -> None:
    running = await start(policy=AccessPolicy(allow_from=frozenset({"1"}), group_policy="All"))
    await running.channel.deliver_message("wait", location=GROUP)
    await running.brain.reached.wait()
    await running.channel.deliver_message("/stop@other_bot", location=GROUP)
    running.brain.gate.set()
    await running.channel.wait_for_text("You said: wait", GROUP)
    await running.channel.deliver_message("/help", location=GROUP, is_mention=True)
    await running.channel.wait_for_text("/stop: stop the running tasks", GROUP)


@pytest.mark.parametrize("text", ["/new@other_bot", "/stop@other_bot and @sophon_bot"])
async def test_a_command_to_another_bot_is_not_executed_though_it_replies_to_us_or_mentions_us(
    start, text: str
) -> None:
    running = await start(policy=AccessPolicy(allow_from=frozenset({"1"}), group_policy="MentionOnly"))
    await running.channel.deliver_message(text, location=GROUP, is_mention=True)
    await running.channel.deliver_message("/help", location=GROUP, is_mention=True)
    await running.channel.wait_for_text("list the commands", GROUP)
    assert len(running.channel.sent_texts(GROUP)) == 1


async def test_a_command_to_another_bot_in_a_direct_chat_is_answered_and_not_executed(start) -> None:
    running = await start()
    await running.channel.deliver_message("/new@other_bot")
    await running.channel.wait_for_text("addressed to @other_bot")
    assert await running.store.channel_state.list("session") == []


async def test_a_turn_that_goes_on_after_a_restart_waits_for_its_channel_before_it_fetches_files(start) -> None:
    class Slow(SyntheticChannel):
        """Its start takes until a gate opens, and before it nothing can be downloaded."""

        gate, asked = asyncio.Event(), asyncio.Event()

        async def start(self, inbox: Any) -> None:
            self.asked.set()
            await self.gate.wait()
            await super().start(inbox)

        async def download_attachment(self, attachment: Any, target: str, *, max_bytes: int) -> int:
            if self.health.state != "running":
                raise ChannelError("the channel is not running")
            return await super().download_attachment(attachment, target, max_bytes=max_bytes)

    first = await start()
    await first.host.queue.pause()
    await first.channel.deliver_message("look", attachments=(ChannelAttachment("f", "document", "a.txt"),))
    await first.end()
    channel = Slow(attachment_contents={"f": b"content"})
    running = await start(store=first.store, channel=channel)
    await running.host.queue.resume()
    await channel.asked.wait()
    for _ in range(50):
        await asyncio.sleep(0)
    channel.gate.set()
    await channel.wait_for_text("7 bytes")


async def test_a_channel_that_cannot_start_holds_a_turn_for_a_bounded_time(start, monkeypatch) -> None:
    monkeypatch.setattr(channel_role, "START_WAIT_SECONDS", 0.01)
    running = await start(channel=SyntheticChannel(start_error="no token"))
    file = {"id": "f", "kind": "document", "name": "a.txt"}
    run = Run("r1", "s", channel="synthetic", text="look", origin={"chat": "10", "attachments": [file]})
    assert "could not be downloaded" in (await running.switchboard._channels.prepare_run(run)).text


async def test_an_album_that_a_kill_cut_waits_for_its_channel_and_for_the_other_pieces(start) -> None:
    class Late(SyntheticChannel):
        """It runs only when a test says so."""

        is_ready = False

        async def start(self, inbox: Any) -> None:
            await super().start(inbox)
            self.health.state = "running" if self.is_ready else "starting"

    first = await start()
    album = {"media_group_id": "x"}
    piece = await first.channel.deliver_message("one", **album)
    await first.end()
    assert len(await first.store.channel_state.list("piece")) == 1
    running = await start(store=first.store, channel=Late())
    await running.channel.wait_until(lambda: running.channel.health.state == "starting")
    for _ in range(50):
        await asyncio.sleep(0)
    assert running.switchboard._connected["synthetic"].inbound.merger._tasks == {}
    assert piece.media_group_id == "x"
