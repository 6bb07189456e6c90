"""Conversations off the record over Socket.IO and HTTP, on a whole server."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import socketio

from sophon import ModelRequest, Services
from sophon.testing import FunctionModel
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.factory import host_store_from_url

TOKEN = "zanzibar"


@dataclass
class Wire:
    folder: Path
    url: str
    http: aiohttp.ClientSession
    client: socketio.AsyncClient
    completed: "asyncio.Queue[dict[str, Any]]" = field(default_factory=asyncio.Queue)

    async def ask(self, event: str, **payload: Any) -> dict[str, Any]:
        return await self.client.call(event, payload, timeout=30)

    async def answer(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.completed.get(), 30)

    def files(self) -> list[str]:
        return [each.name for each in self.folder.rglob("*") if each.is_file() and TOKEN.encode() in each.read_bytes()]


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async def answer(request: ModelRequest) -> str:
        return request.messages[-1].content.upper()

    services = Services(
        models=FunctionModel(answer),
        store=host_store_from_url(f"sqlite:///{tmp_path / 'sophon.db'}", folder=tmp_path),
        settings={"Planning": {"Mode": "Never"}, "Goals": {"Enabled": True}},
        folder=tmp_path,
    )
    server, address = HostServer(services, {}, channels=[]), bind_address("127.0.0.1", 0)
    await server.start(address)
    async with aiohttp.ClientSession() as http:
        client = socketio.AsyncClient(http_session=http, reconnection=False)
        wire = Wire(tmp_path, address.url, http, client)
        client.on("task_completed", wire.completed.put_nowait)
        await client.connect(address.url)
        try:
            yield wire
        finally:
            await client.disconnect()
            await server.shutdown(0)


async def test_a_message_says_that_it_does_not_survive_a_restart(wire: Wire) -> None:
    receipt = await wire.ask("send_message", content=f"say {TOKEN}", mode="otr")
    assert (receipt["ok"], receipt["mode"], receipt["durable"]) == (True, "otr", False)
    assert (await wire.answer())["text"] == f"SAY {TOKEN.upper()}"
    assert (await wire.ask("list_sessions"))["items"] == (await wire.ask("list_tasks"))["items"] == []
    assert wire.files() == []


async def test_a_session_of_the_clients_own_name_is_replayed_while_it_lives(wire: Wire) -> None:
    await wire.ask("send_message", content=TOKEN, session_id="mine", mode="otr")
    await wire.answer()
    await wire.ask("leave_session", session_id="mine")
    joined = await wire.ask("join_session", session_id="mine")
    assert "task_completed" in [each["event"] for each in joined["events"]]
    assert wire.files() == []


async def test_the_other_mode_is_refused(wire: Wire) -> None:
    receipt = await wire.ask("send_message", content="hello", mode="otr")
    refused = await wire.ask("send_message", content=TOKEN, session_id=receipt["session_id"])
    assert refused["error"]["code"] == "other_mode"
    assert wire.files() == []


async def test_nothing_is_kept_for_it_that_acts_later(wire: Wire) -> None:
    receipt = await wire.ask("send_message", content=TOKEN, mode="otr")
    await wire.answer()
    await wire.ask("send_message", content="hello", session_id="s")
    await wire.answer()
    session = receipt["session_id"]
    later: list[tuple[str, dict[str, Any]]] = [
        ("schedules", {"text": "tick", "in_minutes": 1}),
        ("goals", {"title": "birds"}),
        ("sessions/s/fork", {}),
    ]
    for state, code in ((409, "other_mode"), (404, "otr_lost")):
        for path, body in later:
            async with wire.http.post(f"{wire.url}/api/{path}", json={**body, "session_id": session}) as refused:
                assert (refused.status, (await refused.json())["error"]["code"]) == (state, code), path
        async with wire.http.delete(f"{wire.url}/api/sessions/{session}"):
            pass
    async with wire.http.get(f"{wire.url}/api/sessions?everything=true") as listed:
        assert [each["session_id"] for each in (await listed.json())["items"]] == ["s"]


async def test_there_are_no_branches_and_copies(wire: Wire) -> None:
    sent = await wire.ask("send_message", content=TOKEN, mode="otr")
    await wire.answer()
    where = {"session_id": sent["session_id"]}
    for refused in (
        await wire.ask("regenerate", task_id=sent["task_id"], **where),
        await wire.ask("send_message", content="x", mode="otr", replaces=sent["task_id"], **where),
        await wire.ask("send_message", content="x", replaces=sent["task_id"], **where),
    ):
        assert (refused["ok"], refused["error"]["code"]) == (False, "input")
        assert "off the record" in refused["error"]["message"]
    path = f"{wire.url}/api/sessions/{sent['session_id']}"
    async with wire.http.post(f"{path}/fork", json={"task_id": sent["task_id"]}) as response:
        assert (response.status, "off the record" in (await response.json())["error"]["message"]) == (400, True)
    async with wire.http.get(f"{path}/branches") as response:
        assert (await response.json())["items"] == []
    assert (await wire.ask("list_sessions"))["items"] == []
    assert wire.files() == []


async def test_a_conversation_that_was_ended_is_lost_everywhere(wire: Wire) -> None:
    async with wire.http.post(f"{wire.url}/api/sessions", json={"mode": "otr"}) as response:
        session = (await response.json())["session_id"]
    async with wire.http.delete(f"{wire.url}/api/sessions/{session}") as response:
        assert response.status == 200
    answers = [
        await wire.ask("join_session", session_id=session),
        await wire.ask("send_message", content=TOKEN, session_id=session, mode="otr"),
        await wire.ask("send_message", content=TOKEN, session_id=session),
    ]
    assert {each["error"]["code"] for each in answers} == {"otr_lost"}
    async with wire.http.get(f"{wire.url}/api/sessions/{session}") as response:
        assert response.status == 404
    assert wire.files() == []


async def test_a_task_over_http(wire: Wire) -> None:
    async with wire.http.post(f"{wire.url}/api/tasks", json={"content": TOKEN, "mode": "otr"}) as response:
        task = await response.json()
    assert (response.status, task["durable"]) == (202, False)
    async with wire.http.get(f"{wire.url}/api/tasks/{task['task_id']}") as response:
        assert (await response.json())["text"] == TOKEN
    assert wire.files() == []


async def test_files_are_in_memory_and_belong_to_conversations_off_the_record_only(wire: Wire) -> None:
    address, binary = f"{wire.url}/api/attachments", {"Content-Type": "application/octet-stream"}
    query = {"name": f"{TOKEN}.txt", "mode": "otr"}
    async with wire.http.post(address, params=query, data=TOKEN.encode(), headers=binary) as response:
        attachment_id = (await response.json())["attachment"]["id"]
    refused = await wire.ask("send_message", content="read it", attachments=[attachment_id])
    assert refused["error"]["code"] == "not_found"
    receipt = await wire.ask("send_message", content="read it", attachments=[attachment_id], mode="otr")
    await wire.answer()
    async with wire.http.get(f"{address}/{attachment_id}") as response:
        assert await response.read() == TOKEN.encode()
    assert wire.files() == []
    async with wire.http.delete(f"{wire.url}/api/sessions/{receipt['session_id']}"):
        pass
    async with wire.http.get(f"{address}/{attachment_id}") as response:
        assert response.status == 404
