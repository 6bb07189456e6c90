"""Conversations off the record: nothing of them is on disk, their tools only read, and they end."""

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.errors import InputError, NotFound
from sophon.testing import FunctionModel, VirtualClock
from sophon.tools.registry import Toolbox, ToolRegistry
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.client_api.off_the_record_errors import OffTheRecordLost, OtherMode
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.sessions.history_operations import list_messages
from sophon_hosting.features.sessions.operations import list_sessions, open_session
from sophon_hosting.features.tasks.operations import list_tasks, send_feedback
from sophon_hosting.features.tasks.results import TaskView
from sophon_hosting.features.tasks.sending import send
from sophon_hosting.host import Host
from sophon_hosting.host_chain import build_configured_chain
from sophon_hosting.observability.logging_setup import configure_logging
from sophon_hosting.off_the_record.errors import OffTheRecordFull
from sophon_hosting.off_the_record.host import IDLE_TIME, MAX_SESSIONS_PER_USER, OffTheRecordHost
from sophon_hosting.operations.shared_subjects import TASK
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.calls import call

TOKEN = "zanzibar"
"""What must not be found anywhere."""

written: list[str] = []


@tool()
async def keep_note(text: str) -> str:
    """Keep a note."""
    written.append(text)
    return "kept"


@tool(name="agents.run", risk=Risk.NONE)
async def spawn() -> str:
    """Start an agent."""
    written.append("an agent")
    return "started"


@tool()
async def read_calendar() -> str:
    """Read the calendar."""
    return f"lunch in {TOKEN}"


async def answer(request: ModelRequest) -> ModelResponse:
    last = request.messages[-1]
    if last.role == "tool":
        return ModelResponse(f"{TOKEN}: {last.content}")
    if last.content.startswith("call "):
        name = last.content.split()[1]
        arguments = {"text": TOKEN} if name == "keep_note" else {}
        return ModelResponse("", [ToolCall(f"call-{name}", name, arguments)])
    if last.content.startswith("prompt"):
        return ModelResponse(request.messages[0].content)
    if last.content.startswith("fail"):
        raise RuntimeError(f"{TOKEN} in an error")
    return ModelResponse(f"{TOKEN} {len(request.messages)} {sorted(tool.name for tool in request.tools)}")


@dataclass
class Place:
    host: Host
    off: OffTheRecordHost
    folder: Path

    def user(self, name: str = "ada") -> Caller:
        return Caller(self.host, User(name))

    async def outcome(self, user: Caller, task_id: str) -> dict[str, object]:
        async with asyncio.timeout(30):
            while not (run := (await TASK.locate(user, task_id))[1]).is_finished:
                await asyncio.sleep(0)
        assert run.status in ("completed", "failed"), run
        return dict(run.response or {"failed": run.error})


def build_place(folder: Path, clock: VirtualClock | None = None) -> Place:
    services = Services(
        models=FunctionModel(answer),
        tools=[keep_note, read_calendar],
        store=host_store_from_url(f"sqlite:///{folder / 'sophon.db'}", folder=folder),
        settings={"Planning": {"Mode": "Never"}, "Learning": {"Enabled": True}},
        clock=clock,
    )
    off = OffTheRecordHost(services)
    host = Host(services, build_configured_chain(services), off_the_record=off)
    return Place(host, off, folder)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    written.clear()
    place = build_place(tmp_path)
    async with place.host:
        await place.off.start()
        try:
            yield place
        finally:
            await place.off.shutdown()


async def list_own_tasks(user: Caller, **fields: str) -> Sequence[TaskView]:
    return (await call(user, list_tasks, **fields))["items"]


def files_with(folder: Path, word: str) -> list[str]:
    return [each.name for each in folder.rglob("*") if each.is_file() and word.encode() in each.read_bytes()]


async def say(place: Place, text: str, **fields: object) -> tuple[str, dict[str, object]]:
    user = place.user()
    receipt = await send(user, ClientMessage(f"{text} {TOKEN}", mode="otr", **fields))  # type: ignore[arg-type] - fields of a message
    return receipt.session_id, await place.outcome(user, receipt.task_id)


async def open_conversation(user: Caller) -> str:
    return (await call(user, open_session, mode="otr"))["session_id"]


async def test_a_search_finds_nothing_of_it_while_it_lives(place: Place) -> None:
    await say(place, "hello")
    found = await place.host.services.store.message_search.search("ada", TOKEN)
    assert found.items == []


async def test_nothing_of_a_conversation_is_on_disk(place: Place) -> None:
    session, reply = await say(place, "hello")
    _, calendar = await say(place, "call read_calendar", session_id=session)
    _, refused = await say(place, "call keep_note", session_id=session)
    assert TOKEN in str(reply["text"])
    assert "lunch" in str(calendar["text"])
    assert "off_the_record" in str(refused["text"])
    assert not files_with(place.folder, TOKEN)
    assert not files_with(place.folder, session)


async def test_nothing_is_learnt_from_it_and_it_takes_no_feedback(place: Place) -> None:
    session, _ = await say(place, "hello")
    for host in (place.host, place.off):
        assert await host.services.store.trajectories.list() == []
    [task] = await list_own_tasks(place.user(), session_id=session)
    with pytest.raises(InputError, match="off the record"):
        await call(place.user(), send_feedback, task_id=task["task_id"], value=1.0)
    receipt = await send(place.user(), ClientMessage("on the record"))
    await place.outcome(place.user(), receipt.task_id)
    assert [each.run_id for each in await place.host.services.store.trajectories.list()] == [receipt.task_id]


async def test_the_same_words_on_the_record_are_on_disk(place: Place) -> None:
    user = place.user()
    receipt = await send(user, ClientMessage(f"hello {TOKEN}"))
    await place.outcome(user, receipt.task_id)
    assert files_with(place.folder, TOKEN)


async def test_nothing_of_it_is_in_the_log(tmp_path: Path) -> None:
    out, root = io.StringIO(), logging.getLogger()
    handlers, level = list(root.handlers), root.level
    configure_logging("DEBUG", "Json", out)
    place = build_place(tmp_path)
    try:
        async with place.host:
            await place.off.start()
            session, _ = await say(place, "fail")
            await say(place, "hello", session_id=session)
            await place.off.shutdown()
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    assert TOKEN not in out.getvalue()


async def test_a_writing_tool_is_blocked_and_not_offered(place: Place) -> None:
    user, events = place.user(), list[WireEvent]()
    session_id = await open_conversation(user)
    await place.off.event_bus.subscribe(session_id, events.append, "ada")
    _, refused = await say(place, "call keep_note", session_id=session_id)
    _, reply = await say(place, "hello", session_id=session_id)
    verdicts = [each.data for each in events if each.name == "guard_verdict"]
    assert [(each["guard"], each["verdict"], each["rule"]) for each in verdicts] == [
        ("OffTheRecord", "block", "off_the_record")
    ]
    assert "tools only read" in str(refused["text"])
    assert "keep_note" not in str(reply["text"]).split("[")[1]
    assert "read_calendar" in str(reply["text"])
    assert written == []


async def test_the_prompt_says_that_nothing_is_stored(place: Place) -> None:
    user = place.user()
    _, reply = await say(place, "prompt")
    assert "off the record: nothing of it is stored" in str(reply["text"])
    receipt = await send(user, ClientMessage("prompt"))
    assert "off the record" not in str((await place.outcome(user, receipt.task_id))["text"])


async def test_nothing_that_keeps_or_starts_something_runs(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place.off.services, "toolbox", Toolbox(ToolRegistry([spawn])))  # as if it were offered
    user, events = place.user(), list[WireEvent]()
    session_id = await open_conversation(user)
    await place.off.event_bus.subscribe(session_id, events.append, "ada")
    names = ("agents.run", "schedules.add", "schedules.remove", "goals.create", "goals.resume")
    for name in names:
        await say(place, f"call {name}", session_id=session_id)
    verdicts = [each.data for each in events if each.name == "guard_verdict"]
    assert [(each["tool"], each["verdict"], each["rule"]) for each in verdicts] == [
        (name, "block", "off_the_record") for name in names
    ]
    assert written == []


async def test_without_the_guard_the_same_call_starts_an_agent(tmp_path: Path) -> None:
    written.clear()
    services = Services(
        models=FunctionModel(answer),
        tools=[spawn],
        settings={"Planning": {"Mode": "Never"}},
        store=SqlHostStore("memory://"),
    )
    await build_configured_chain(services).run(services.turn("call agents.run"))
    assert written == ["an agent"]


async def test_without_the_guard_the_tool_writes(place: Place) -> None:
    user = place.user()
    receipt = await send(user, ClientMessage("call keep_note"))
    await place.outcome(user, receipt.task_id)
    assert written == [TOKEN]


async def test_a_conversation_remembers_itself_while_it_lives(place: Place) -> None:
    session, _ = await say(place, "one")
    await say(place, "two", session_id=session)
    page = await call(place.user(), list_messages, session_id=session)
    assert [each.get("role") for each in page["items"]] == ["user", "assistant"] * 2


async def test_modes_are_not_mixed(place: Place) -> None:
    user = place.user()
    off, _ = await say(place, "hello")
    receipt = await send(user, ClientMessage("hello"))
    with pytest.raises(OtherMode, match="off the record from its start"):
        await send(user, ClientMessage(TOKEN, session_id=off))
    with pytest.raises(OtherMode, match="on the record from its start"):
        await send(user, ClientMessage(TOKEN, session_id=receipt.session_id, mode="otr"))
    assert not files_with(place.folder, TOKEN)


async def test_it_is_in_no_list_and_others_do_not_see_it(place: Place) -> None:
    session, _ = await say(place, "hello")
    user, other = place.user(), place.user("bob")
    assert not (await call(user, list_sessions))["items"]
    assert not await list_own_tasks(user)
    assert len(await list_own_tasks(user, session_id=session)) == 1
    with pytest.raises(NotFound):
        await call(other, list_messages, session_id=session)
    with pytest.raises(OffTheRecordLost):
        await send(other, ClientMessage("hello", session_id=session, mode="otr"))


async def test_a_restart_ends_it(tmp_path: Path, place: Place) -> None:
    session, _ = await say(place, "hello")
    again = Caller(build_place(tmp_path / "again").host, User("ada"))
    await again._host.services.open()
    with pytest.raises(OffTheRecordLost):
        await send(again, ClientMessage("hello", session_id=session, mode="otr"))
    await again._host.services.close()


async def test_an_idle_conversation_ends(tmp_path: Path) -> None:
    clock = VirtualClock(auto=False)
    place = build_place(tmp_path, clock)
    await place.host.services.open()
    await open_conversation(place.user())
    assert await place.off.end_idle_sessions() == 0
    await clock.advance((IDLE_TIME + timedelta(seconds=1)).total_seconds())
    assert await place.off.end_idle_sessions() == 1
    await place.host.services.close()


async def test_a_user_has_few_of_them(place: Place) -> None:
    user = place.user()
    for _ in range(MAX_SESSIONS_PER_USER):
        await open_conversation(user)
    with pytest.raises(OffTheRecordFull):
        await send(user, ClientMessage("hello", mode="otr"))
    await open_conversation(place.user("bob"))


async def test_its_usage_is_counted_without_a_name(place: Place) -> None:
    session, _ = await say(place, "hello")
    usage = place.host.services.store.usage
    assert sum(row.calls for row in await usage.list_totals()) == 1
    assert not await usage.list_totals(session_id=session)
