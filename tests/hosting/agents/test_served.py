"""A served host with agents: events over Socket.IO, tasks, agents and cancellation over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import socketio

from sophon.clock import SystemClock
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.agents import Workshop, ask, call

PATIENCE_SECONDS = 60


class Served:
    """A served workshop, and what a client of Socket.IO has heard."""

    def __init__(self, shop: Workshop, url: str, http: httpx.AsyncClient, client: socketio.AsyncClient) -> None:
        self.shop, self.url, self.http, self.client = shop, url, http, client
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self._news = asyncio.Event()
        client.on("*", self._hear)

    def _hear(self, name: str, data: Any = None) -> None:
        self.heard.append((name, data))
        self._news.set()

    async def send(self, content: str) -> str:
        answer = await self.client.call("send_message", {"content": content}, timeout=PATIENCE_SECONDS)
        assert answer["ok"], answer
        return answer["task_id"]

    async def until(self, name: str, **fields: Any) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                for heard, data in self.heard:
                    if heard == name and all(data.get(key) == value for key, value in fields.items()):
                        return data
                self._news.clear()
                await self._news.wait()


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    folder = tmp_path / "agents"
    folder.mkdir()
    shop = Workshop(folder, Tools={"FilesRoot": str(tmp_path / "files")})
    shop.write("helper", "tools: [look, wait]")
    (folder / "broken.md").write_text("no front matter")
    shop.options |= {"clock": SystemClock(), "store": SqlHostStore("memory://")}
    site = HostServer(shop.open(), {})
    address = bind_address("127.0.0.1", 0)
    with address.socket:
        await site.start(address)
        port = address.socket.getsockname()[1]
        url, client = f"http://127.0.0.1:{port}", socketio.AsyncClient(reconnection=False)
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=PATIENCE_SECONDS) as http:
            served = Served(shop, url, http, client)
            await client.connect(url, transports=["websocket"])
            yield served
            shop.gate.set()
            await client.disconnect()
        await site.shutdown(1)


async def test_a_client_hears_of_agents_and_their_states(served: Served) -> None:
    served.shop.scripts = {"main": [[ask("helper", "look around")]], "helper": [[call("look")]]}
    task = await served.send("hello")
    await served.until("task_completed", task_id=task)
    changed = [data for name, data in served.heard if name == "sub_agent_changed"]
    assert [(each["agent"], each["state"]) for each in changed] == [
        ("helper", "spawning"),
        ("helper", "working"),
        ("helper", "completed"),
    ]
    started = await served.until("tool_call_started", tool="look")
    assert started["run_id"] == changed[0]["agent_id"]
    body = (await served.http.get(f"/api/tasks/{task}")).json()
    [child] = body["children"]
    assert (child["agent_id"], child["state"], child["task"]) == (changed[0]["agent_id"], "completed", "look around")


async def test_a_message_to_an_agent_is_answered_by_it(served: Served) -> None:
    task = await served.send("@helper hello")
    assert (await served.until("agent_selected", task_id=task))["agent"] == "helper"
    assert (await served.until("task_completed", task_id=task))["text"] == "helper is done"


async def test_agents_are_listed_shown_and_cancelled_over_http(served: Served) -> None:
    served.shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")]]}
    task = await served.send("hello")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await served.shop.started.wait()
    body = (await served.http.get("/api/agents")).json()
    assert [each["name"] for each in body["items"]] == ["helper"]
    assert "broken.md:1:" in body["problems"][0]
    [running] = body["running"]
    assert (running["agent"], running["state"], running["task_id"]) == ("helper", "working", task)
    shown = (await served.http.get("/api/agents/helper")).json()
    assert (shown["tools"], shown["prompt"]) == (["look", "wait"], "You are helper.")
    assert (await served.http.get("/api/agents/nobody")).status_code == 404
    unknown = await served.http.post("/api/agents/cancel", json={"agent_id": f"{task}/agent-x"})
    assert unknown.status_code == 404
    answer = await served.http.post("/api/agents/cancel", json={"agent_id": running["agent_id"]})
    assert answer.json() == {"ok": True, "agent_id": running["agent_id"], "state": "cancelling"}
    await served.until("sub_agent_changed", state="cancelled")
    assert (await served.until("task_completed", task_id=task))["text"] == "main is done"
    assert (await served.http.get("/api/agents")).json()["running"] == []
