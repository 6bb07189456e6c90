"""The heartbeat: entries of a file that people edit, once a minute each, silent when there is nothing to say."""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from sophon import ModelRequest, Services
from sophon.memory.workspace_templates import WORKSPACE_TEMPLATES
from sophon.testing import FunctionModel, VirtualClock
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.features.schedules.heartbeat import Heartbeat, read_heartbeat
from sophon_hosting.features.schedules.heartbeat_file import NO_OP_REPLY, HeartbeatFile, is_no_op_reply, parse_heartbeat
from sophon_hosting.features.schedules.silent_replies import keep_silent
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.runs.answer_entries import build_answer_entries
from sophon_hosting.store.runs.contract import Run, RunOutcome
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.hosting.features.schedules.conftest import MINUTE, T0, ScheduleWorld

FILE = """# Heartbeat
Be brief.

- */30 * * * * Look at the inbox
0 13 * * * Say the time
*/5 * * *
99 * * * * Never
"""


class HeartbeatWorld(ScheduleWorld):
    """A host with a folder whose model answers with `reply`."""

    reply = NO_OP_REPLY
    built: list[Sequence[OutboundEntry]]

    def beat(
        self, folder: Path, *, sections: Mapping[str, Any] | None = None, **settings: Any
    ) -> tuple[Host, Heartbeat]:
        async def answer(request: ModelRequest) -> str:
            self.asked.append(request.messages[-1].content)
            return self.reply

        services = Services(
            models=FunctionModel(answer),
            store=self.store,
            clock=self.clock,
            folder=folder,
            settings={
                "Memory": {"Directory": "memory"},
                "Schedules": {"Heartbeat": {"Enabled": True, **settings}},
                **(sections or {}),
            },
        )
        self.built = []
        silent = keep_silent(build_answer_entries)

        def build(run: Run, outcome: RunOutcome) -> Sequence[OutboundEntry]:
            self.built.append(silent(run, outcome))
            return self.built[-1]

        host = Host(services, twelve(services), build_outbound=build)
        self.hosts.append(host)
        return host, Heartbeat(host)

    async def fire_once(self, *beats: Heartbeat) -> None:
        for beat in beats:
            await beat.fire()
        await self.until(self.is_done)


@pytest.fixture
async def world(tmp_path: Path):
    clock = VirtualClock(auto=False, start=T0)
    world = HeartbeatWorld(SqlHostStore("memory://", clock=clock), clock)
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "HEARTBEAT.md").write_text(FILE)
    yield world
    for host in world.hosts:
        await host.shutdown(grace_seconds=0)


def test_cron_lines_are_entries_and_the_rest_is_instructions():
    found = parse_heartbeat(FILE)
    assert [(each.cron, each.task) for each in found.entries] == [
        ("*/30 * * * *", "Look at the inbox"),
        ("0 13 * * *", "Say the time"),
        ("99 * * * *", "Never"),
    ]
    assert "Be brief." in found.instructions
    assert parse_heartbeat("1. first do this and that thing\n* a b c d").entries == ()


def test_the_file_that_init_writes_does_nothing_until_somebody_adds_a_line() -> None:
    assert parse_heartbeat(WORKSPACE_TEMPLATES["HEARTBEAT.md"]) == HeartbeatFile()


@pytest.mark.parametrize("reply", [NO_OP_REPLY, f" {NO_OP_REPLY}\n", f"**{NO_OP_REPLY}**", f"`{NO_OP_REPLY}`."])
def test_the_no_op_reply_is_the_token_alone(reply: str):
    assert is_no_op_reply(reply)
    assert not is_no_op_reply(f"{reply} but the disk is full")


async def test_what_is_over_a_limit_of_the_person_does_not_run_and_the_log_says_which(
    world: HeartbeatWorld, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "memory" / "HEARTBEAT.md").write_text("0 * * * * Look at the inbox\n0 * * * * Say the time\n")
    limits = {"Goals": {"Enabled": True, "Limits": {"TasksPerHour": 1}}}
    host, beat = world.beat(tmp_path, sections=limits)
    await host.start()
    await world.fire_once(beat)
    [run] = await world.runs()
    assert "Look at the inbox" in run.text
    assert "the heartbeat 'Say the time' of local does not run now: 1/1 tasks per hour" in caplog.text
    world.pass_time(timedelta(hours=1))
    await world.fire_once(beat)
    assert len(world.asked) == 2


async def test_nothing_runs_for_somebody_who_may_not_chat(
    world: HeartbeatWorld, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    denied: dict[str, Any] = {
        "Channels": {"heartbeat": {"Level": "ZeroTrust"}},
        "Levels": {"ZeroTrust": {"Features": []}},
    }
    host, beat = world.beat(tmp_path, sections={"Permissions": denied})
    await host.start()
    await world.fire_once(beat)
    await world.fire_once(beat)
    assert await world.runs() == []
    assert [each.getMessage() for each in caplog.records if "may not chat" in each.getMessage()] == [
        "HEARTBEAT.md of local does not run: local may not chat any more: the level is ZeroTrust"
    ]


async def test_an_entry_runs_in_its_minute_once_over_several_hosts(world: HeartbeatWorld, tmp_path: Path):
    (first, one), (second, two) = world.beat(tmp_path), world.beat(tmp_path)
    await first.start()
    await second.start()
    await world.fire_once(one, two, one)
    world.pass_time(MINUTE)
    await world.fire_once(one, two)
    [run] = await world.runs()
    assert (run.owner, run.channel) == ("local", "heartbeat")
    assert run.session_id.startswith("heartbeat-20261123T1200-")
    assert "Be brief." in world.asked[0]
    assert "Look at the inbox" in world.asked[0]


async def test_the_file_is_read_as_it_is_at_the_minute(world: HeartbeatWorld, tmp_path: Path):
    host, beat = world.beat(tmp_path)
    await host.start()
    (tmp_path / "memory" / "HEARTBEAT.md").write_text("0 12 * * * Water the plants")
    await world.fire_once(beat)
    assert ["Water the plants" in each for each in world.asked] == [True]
    (tmp_path / "memory" / "HEARTBEAT.md").unlink()
    world.pass_time(timedelta(days=1))
    await world.fire_once(beat)
    assert len(world.asked) == 1


@pytest.mark.parametrize(("reply", "entries"), [(NO_OP_REPLY, 0), ("The disk is full.", 1)])
async def test_only_a_reply_that_says_something_reaches_the_chat(
    world: HeartbeatWorld, tmp_path: Path, reply: str, entries: int
):
    host, beat = world.beat(tmp_path, Session="chat")
    await host.start()
    origin = {"chat": "5", "kind": "direct", "place": {"chat": "5", "kind": "direct"}}
    await host.accept(RunRequest("hello", "chat", "telegram:5", "telegram", "bot", origin=origin))
    await world.until(world.is_done)
    world.built.clear()
    world.reply = reply
    await world.fire_once(beat)
    sent = [entry for each in world.built for entry in each]
    assert [(entry.channel, entry.chat) for entry in sent] == [("telegram", "5")] * entries


async def test_a_user_does_not_speak_in_the_chat_of_somebody_else(world: HeartbeatWorld, tmp_path: Path):
    users = [{"Id": each, "Token": f"{each}-token-0123", "Operator": each == "olga"} for each in ("ada", "olga")]
    host, beat = world.beat(tmp_path, Session="chat", sections={"Hub": {"Users": users}})
    await host.start()
    origin = {"chat": "5", "kind": "direct", "place": {"chat": "5", "kind": "direct"}, "data_owner": "telegram:5"}
    await host.accept(RunRequest("hello", "chat", "telegram:5", "telegram", "bot", origin=origin))
    await world.until(world.is_done)
    world.built.clear()
    world.reply = "Pay Eve."
    for name, task in (("ada", "Speak to others"), ("olga", "Speak to me")):
        own = tmp_path / "memory" / "principals" / name
        own.mkdir(parents=True)
        (own / "HEARTBEAT.md").write_text(f"* * * * * {task}\n")
    await world.fire_once(beat)
    runs = {run.owner: run for run in await world.store.runs.list() if run.session_id != "chat"}
    assert (runs["ada"].channel, runs["ada"].origin.get("data_owner")) == ("heartbeat", None)
    assert runs["olga"].channel == "telegram"


async def test_what_a_person_says_is_delivered_even_if_it_is_the_token(world: HeartbeatWorld, tmp_path: Path):
    host, _ = world.beat(tmp_path)
    await host.start()
    await host.accept(RunRequest("hello", "chat", "telegram:5", "telegram", "bot", origin={"chat": "5"}))
    await world.until(world.is_done)
    assert [len(each) for each in world.built] == [1]


async def test_a_session_in_which_nothing_was_said_is_deleted_later(world: HeartbeatWorld, tmp_path: Path):
    host, beat = world.beat(tmp_path)
    await host.start()
    await world.fire_once(beat)
    world.pass_time(5 * MINUTE)
    await world.fire_once(beat)
    assert len(await world.store.sessions.list("local")) == 1
    world.pass_time(10 * MINUTE)
    await world.fire_once(beat)
    assert await world.store.sessions.list("local") == []


def test_a_pipe_in_place_of_the_file_has_no_entries_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "HEARTBEAT.md")
    found: list[HeartbeatFile] = []
    reader = Thread(target=lambda: found.append(read_heartbeat(tmp_path / "HEARTBEAT.md")), daemon=True)
    reader.start()
    reader.join(timeout=20)
    assert found == [HeartbeatFile()]
