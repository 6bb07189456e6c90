"""Retention of sessions: what is idle goes as a whole, what is in use stays, goals take their sessions along."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from sophon import ModelRequest, Services
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.retention import BATCH_SIZE, RetentionSweep, SessionDeleter, StoreSessions
from sophon_hosting.store.contract import HostStore, host_store
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.databases import SQLITE, copy_database

DAY_SECONDS = 86_400


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
async def store(tmp_path: Path, clock: VirtualClock) -> AsyncIterator[HostStore]:
    copy_database(tmp_path)
    store = host_store_from_url(SQLITE, folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()


async def greet(_: ModelRequest) -> str:
    return "hello"


@pytest.fixture
async def host(store: HostStore, clock: VirtualClock) -> AsyncIterator[Host]:
    services = Services(
        models=FunctionModel(greet),
        store=store,
        clock=clock,
        settings={"Retention": {"Sessions": 30}, "AgentExecution": {"Titles": False}, "Memory": {"Learn": False}},
    )
    host = Host(services, twelve(services))
    await host.start()
    yield host
    await host.shutdown(grace_seconds=0)


def sweep_of(host: Host, sessions: SessionDeleter | None = None) -> RetentionSweep:
    services = host.services
    return RetentionSweep(host_store(services), services.clock, services.settings, Path("no-such"), sessions or host)


async def add_session(store: HostStore, session_id: str) -> None:
    await store.sessions.append(session_id, [SessionRecord("message", "r", Message("user", "hello"))], owner="ada")


async def test_sessions_without_anything_new_are_deleted_and_their_listeners_told(
    host: Host, store: HostStore, clock: VirtualClock
) -> None:
    await add_session(store, "old")
    heard: list[str] = []
    await host.event_bus.subscribe("old", lambda event: heard.append(event.name))
    clock.jump(29 * DAY_SECONDS)
    await add_session(store, "new")
    assert (await sweep_of(host).sweep())["sessions"] == 0
    clock.jump(2 * DAY_SECONDS)
    assert (await sweep_of(host).sweep())["sessions"] == 1
    assert [each.id for each in await store.sessions.list()] == ["new"]
    assert heard == ["session_deleted"]


async def test_sessions_are_kept_for_ever_by_default(host: Host, store: HostStore, clock: VirtualClock) -> None:
    await add_session(store, "old")
    clock.jump(10_000 * DAY_SECONDS)
    settings = Services(models=FunctionModel(greet), store=SqlHostStore("memory://")).settings
    deleted = await RetentionSweep(store, clock, settings, Path("no-such"), host).sweep()
    assert "sessions" not in deleted
    assert (await store.sessions.get("old")).id == "old"


class MessageBeforeDeletion(StoreSessions):
    """A message arrives, here or in another process, after a session was found to be idle."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.services.store.sessions)
        self._host = host

    async def delete_idle_session(self, session_id: str, before: datetime) -> bool:
        await add_session(host_store(self._host.services), session_id)
        return await self._host.delete_idle_session(session_id, before)


class Unconditional(MessageBeforeDeletion):
    """The same without the condition in the store's transaction."""

    async def delete_idle_session(self, session_id: str, before: datetime) -> bool:
        await add_session(host_store(self._host.services), session_id)
        await self._host.delete_session(session_id)
        return True


@pytest.mark.parametrize(("deleter", "is_kept"), [(MessageBeforeDeletion, True), (Unconditional, False)])
async def test_a_message_that_arrives_meanwhile_keeps_the_session(
    host: Host, store: HostStore, clock: VirtualClock, deleter: type[MessageBeforeDeletion], is_kept: bool
) -> None:
    await add_session(store, "s")
    clock.jump(31 * DAY_SECONDS)
    await sweep_of(host, deleter(host)).sweep()
    assert (await store.sessions.find("s") is not None) == is_kept


async def test_more_sessions_than_a_batch_are_deleted_at_once(
    host: Host, store: HostStore, clock: VirtualClock
) -> None:
    for number in range(BATCH_SIZE + 1):
        await add_session(store, f"s{number}")
    clock.jump(31 * DAY_SECONDS)
    assert (await sweep_of(host).sweep())["sessions"] == BATCH_SIZE + 1


async def test_a_new_message_makes_a_new_session_of_that_id(host: Host, store: HostStore, clock: VirtualClock) -> None:
    async def say(text: str) -> None:
        receipt = await host.accept(RunRequest(text, "s", "ada"))
        async with asyncio.timeout(20):
            while not (await store.runs.get(receipt.task_id)).is_finished:
                await asyncio.sleep(0.001)

    await say("one")
    clock.jump(31 * DAY_SECONDS)
    assert (await sweep_of(host).sweep())["sessions"] == 1
    await say("two")
    contents = [each.content for each in (await store.sessions.load_history("s")).messages]
    assert contents == ["two", "hello"]


@pytest.mark.parametrize("in_a_host", [True, False])
async def test_forgotten_goals_take_the_sessions_that_they_worked_in_along(
    host: Host, store: HostStore, clock: VirtualClock, in_a_host: bool
) -> None:
    await add_session(store, "chat")
    for number in range(3):
        goal = Goal(f"g{number}", "ada", "Errand", "", session_id="chat", created_at=clock.now())
        await stored_goals(store).add(goal)
        assert await stored_goals(store).change(goal.move("cancel", "enough", clock.now())) is not None
        for session_id in goal.list_work_sessions() if number else ():  # the first one has never worked
            await add_session(store, session_id)
    clock.jump(91 * DAY_SECONDS)
    await add_session(store, "chat")
    deleted = await sweep_of(host, None if in_a_host else StoreSessions(store.sessions)).sweep()
    assert deleted["goals"] == 3
    assert [each.id for each in await store.sessions.list()] == ["chat"]
    assert await stored_goals(store).list() == []
