"""A whole host with several users: who is whom, who decides, and whose files are whose."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall
from sophon.stores.memories.contract import MemoryEntry
from sophon.testing import FunctionModel
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore

USERS = [
    {"Id": "ada", "Token": "token-of-ada"},
    {"Id": "synthetic:1", "Token": "token-of-namesake"},
    {"Id": "olga", "Token": "token-of-olga", "Operator": True},
]


async def answer(request: ModelRequest) -> str | ModelResponse:
    last = request.messages[-1]
    tool, _, value = last.content.partition(" ")
    if last.role != "user" or tool not in ("files.write", "files.read", "files.list", "system.execute"):
        return f"Done: {last.content}"
    arguments: dict[str, Any] = {"command": value} if tool == "system.execute" else {"path": value}
    arguments |= {"content": "written"} if tool == "files.write" else {}
    return ModelResponse("", [ToolCall("c1", tool, arguments)])


class Served:
    """The host, its channel, and clients of its users."""

    def __init__(self, server: HostServer, url: str, channel: SyntheticChannel, stack: AsyncExitStack) -> None:
        self.server, self.url, self.channel, self._stack = server, url, channel, stack
        self.store = server.services.store

    async def client(self, user: str) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer token-of-{user}"}
        client = httpx.AsyncClient(base_url=self.url, headers=headers, trust_env=False, timeout=30)
        return await self._stack.enter_async_context(client)

    async def ask(self, user: str, text: str) -> tuple[str, str]:
        """Send a message; return its task and what it waits for, "" if it has ended."""
        client = await self.client(user)
        task = (await client.post("/api/tasks", json={"content": text})).json()["task_id"]
        while True:
            row = (await client.get(f"/api/tasks/{task}")).json()
            if row["status"] == "suspended" and row["waiting_for"]:
                return task, row["waiting_for"][0]
            if row["status"] in ("completed", "failed", "cancelled"):
                return task, ""

    async def decide(self, user: str, approval: str, decision: str, **more: Any) -> httpx.Response:
        body = {"decision": decision, **more}
        return await (await self.client(user)).post(f"/api/approvals/{approval}", json=body)

    async def answer_to(self, user: str, text: str) -> str:
        task, approval = await self.ask(user, text)
        if approval:
            assert (await self.decide(user, approval, "approve")).status_code == 200
        client = await self.client(user)
        while (row := (await client.get(f"/api/tasks/{task}")).json())["status"] != "completed":
            pass
        return str(row["answer"])


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    services = Services(
        models=FunctionModel(answer),
        folder=tmp_path,
        settings={
            "Hub": {"Users": USERS},
            "Planning": {"Mode": "Never"},
            "AgentExecution": {"Titles": False},
            "Tools": {"FilesRoot": "files"},
        },
        store=SqlHostStore("memory://"),
    )
    channel = SyntheticChannel()
    policy = AccessPolicy(allow_from=frozenset({"1"}))
    server = HostServer(services, {}, channels=[ConfiguredChannel(channel, policy)])
    address = bind_address("127.0.0.1", 0)
    async with AsyncExitStack() as stack:
        await server.start(address)
        stack.push_async_callback(server.shutdown, 0)
        yield Served(server, address.url, channel, stack)


@pytest.mark.parametrize(
    ("decision", "more"), [("approve", {}), ("edit", {"arguments": {"command": "cat /etc/passwd"}})]
)
async def test_a_user_cannot_let_their_own_command_run(served: Served, decision: str, more: dict[str, Any]) -> None:
    _, approval = await served.ask("ada", "system.execute id")
    refused = await served.decide("ada", approval, decision, **more)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "operator_needed")
    listed = (await (await served.client("ada")).get("/api/approvals")).json()["items"]
    assert [each["needs_operator"] for each in listed] == [True]
    assert (await served.decide("olga", approval, "approve")).status_code == 200


async def test_each_user_has_files_of_their_own(served: Served, tmp_path: Path) -> None:
    await served.answer_to("ada", "files.write notes.txt")
    assert (tmp_path / "files/principals/ada/notes.txt").read_text() == "written"
    assert "written" in await served.answer_to("ada", "files.read notes.txt")
    for path in ("notes.txt", "../ada/notes.txt", "principals/ada/notes.txt"):
        assert "cannot be used" in (said := await served.answer_to("olga", f"files.read {path}")) or "leaves" in said


async def test_a_command_runs_in_the_folder_of_who_asked(served: Served, tmp_path: Path) -> None:
    assert str(tmp_path / "files" / "principals" / "olga") in await served.answer_to("olga", "system.execute pwd")


async def test_a_user_named_like_a_person_on_a_channel_is_somebody_else(served: Served) -> None:
    await served.channel.deliver_message("hello")
    await served.channel.wait_for_text("Done: hello")
    await served.store.memories.write(MemoryEntry("m", "of the person", scope="synthetic:1"))
    namesake = await served.client("namesake")
    assert (await namesake.get("/api/me")).json()["user"] == "user:synthetic:1"
    for path in ("/api/sessions", "/api/tasks", "/api/memory"):
        assert (await namesake.get(path)).json()["items"] == []
    (session,) = await served.store.sessions.list("synthetic:1")
    assert (await namesake.get(f"/api/sessions/{session.id}")).status_code in (403, 404)
