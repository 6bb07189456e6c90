"""A session ends as a whole: nothing of it reaches who owns a session of the same id later."""

import asyncio

import pytest

from sophon.errors import NotFound
from sophon.events import TaskStarted
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.client_api.scoped_session_ids import to_scoped_session_id
from sophon_hosting.events.wire_event import EventListener, WireEvent
from sophon_hosting.features.approvals.operations import decide_approval, get_approval, list_approvals
from sophon_hosting.features.sessions.branch_operations import fork_session
from sophon_hosting.features.sessions.history_operations import list_messages
from sophon_hosting.features.sessions.operations import get_session
from sophon_hosting.features.tasks.operations import cancel_task, get_task, list_tasks
from sophon_hosting.features.tasks.sending import accept, send
from tests.hosting.calls import call


def message(content: str = "hello", session_id: str = "s") -> ClientMessage:
    return ClientMessage(content, session_id=session_id)


async def joined(office, session_id: str, listener: EventListener) -> None:
    """Let Bob join a session, as the hub does."""
    session = await office.bob.sessions.find_or_create(session_id)
    await office.host.event_bus.join_session(session.id, 0, listener, session.owner)


async def test_a_subscription_ends_with_its_session_and_never_reaches_the_next_owner_of_the_id(office) -> None:
    heard: list[WireEvent] = []
    await joined(office, "s", heard.append)
    await office.host.delete_session("s")
    assert [event.name for event in heard] == ["session_deleted"]
    await office.over((await send(office.ada, message("secret"))).task_id)
    await office.host.event_bus.flush("s")
    assert len(heard) == 1


async def test_a_subscription_does_not_go_on_in_a_new_session_of_the_same_owner(office) -> None:
    heard: list[WireEvent] = []
    await joined(office, "s", heard.append)
    await office.host.delete_session("s")
    await office.over((await send(office.bob, message())).task_id)
    await office.host.event_bus.flush("s")
    assert [event.name for event in heard] == ["session_deleted"]


async def test_a_listener_of_a_session_that_another_process_deleted_hears_nothing_of_the_next_owners(office) -> None:
    heard: list[WireEvent] = []
    await joined(office, "s", heard.append)
    await office.host.services.store.sessions.delete("s")  # as `sophon sessions delete` does
    await office.over((await send(office.ada, message("secret"))).task_id)
    await office.host.event_bus.flush("s")
    assert heard == []


async def test_who_joins_while_the_session_changes_hands_is_not_subscribed(office) -> None:
    bus, sessions = office.host.event_bus, office.host.services.store.sessions
    await sessions.get_or_create("s", "ada")
    heard: list[WireEvent] = []
    for attempt in (bus.join_session("s", 0, heard.append, "bob"), bus.subscribe("s", heard.append, "bob")):
        with pytest.raises(NotFound):
            await attempt
    bus.emit(TaskStarted(session_id="s", started_at=""))
    await bus.flush("s")
    assert heard == []


async def test_a_message_that_meets_another_owner_of_its_session_goes_to_a_session_of_the_sender(office) -> None:
    sessions = office.host.services.store.sessions
    chosen: list[str] = []

    async def change_hands(stored_id: str) -> None:
        chosen.append(stored_id)
        if len(chosen) == 1:
            await office.host.delete_session("s")
            await office.ada.sessions.find_or_create_own("s")

    receipt = await accept(office.bob, message("of Bob"), change_hands)
    await office.over(receipt.task_id)
    scoped = to_scoped_session_id("s", "bob")
    assert (chosen, receipt.session_id) == (["s", scoped], scoped)
    assert await sessions.list_records("s") == []


async def test_a_message_waits_until_the_session_is_deleted_and_begins_a_new_one(office) -> None:
    await office.over((await send(office.ada, message("old"))).task_id)
    task = (await send(office.ada, message("wait"))).task_id
    await office.reached(task, "running")
    deletion = asyncio.ensure_future(office.host.delete_session("s"))
    await asyncio.sleep(0)
    receipt, _ = await asyncio.gather(send(office.ada, message("new")), deletion)
    await office.over(receipt.task_id)
    page = await call(office.ada, list_messages, session_id="s")
    assert [each["content"] for each in page["items"]] == ["new", "NEW"]


async def test_the_usage_of_a_deleted_session_is_not_the_next_ones(office) -> None:
    usage = office.host.services.store.usage
    await office.over((await send(office.bob, message())).task_id)
    await office.host.delete_session("s")
    await office.ada.sessions.find_or_create_own("s")
    assert await usage.list_totals(session_id="s") == []
    assert [total.calls for total in await usage.list_totals()] == [1]


async def test_a_stored_id_names_nothing_for_a_user_whoever_owns_the_id(office) -> None:
    await office.ada.sessions.find_or_create_own("taken")
    for name in ("taken", "free"):
        await office.over((await send(office.bob, message(session_id=name))).task_id)
        stored = to_scoped_session_id(name, "bob")
        for operation in (get_session, list_messages):
            with pytest.raises(NotFound):
                await call(office.bob, operation, session_id=stored)
        with pytest.raises(NotFound):
            await call(office.bob, fork_session, source_id=stored)
        assert (await call(office.bob, list_tasks, session_id=stored))["items"] == []
    stored = to_scoped_session_id("taken", "bob")
    assert (await call(office.operator, get_session, session_id=stored))["owner"] == "bob"


@pytest.mark.parametrize("name", ["telegram-5", "whatsapp-49", "telegram--100-7"])
async def test_a_session_named_like_that_of_a_chat_is_never_the_chats(office, name: str) -> None:
    sessions = office.host.services.store.sessions
    await office.bob.sessions.find_or_create_own(name)
    assert (await call(office.bob, get_session, session_id=name))["session_id"] == name
    assert await sessions.find(name) is None
    await office.bob.sessions.find_or_create_own("s")
    await call(office.bob, fork_session, source_id="s", session_id=f"{name}-copy")
    assert await sessions.find(f"{name}-copy") is None


class Counted:
    """A repository of a store that counts what is asked of it."""

    def __init__(self, inner, asked: list[str]) -> None:
        self._inner, self._asked = inner, asked

    def __getattr__(self, name: str):
        self._asked.append(name)
        return getattr(self._inner, name)


async def test_what_is_somebody_elses_takes_as_many_queries_as_what_does_not_exist(office, monkeypatch) -> None:
    task = (await send(office.ada, message("pay Bob"))).task_id
    await office.reached(task, "suspended")
    [shown] = (await call(office.ada, list_approvals))["items"]
    asked: list[str] = []
    store = office.host.services.store
    for name in ("runs", "approvals", "sessions"):
        monkeypatch.setattr(store, name, Counted(getattr(store, name), asked))

    async def queries(ask, name: str) -> list[str]:
        asked.clear()
        with pytest.raises(NotFound):
            await ask(name)
        return list(asked)

    for ask, name in (
        (lambda each: call(office.bob, get_task, task_id=each), task),
        (lambda each: call(office.bob, cancel_task, task_id=each), task),
        (lambda each: call(office.bob, get_approval, approval_id=each), shown["approval_id"]),
        (
            lambda each: call(office.bob, decide_approval, approval_id=each, decision="approve"),
            shown["approval_id"],
        ),
    ):
        assert await queries(ask, name) == await queries(ask, "nothing")
