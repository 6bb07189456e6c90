"""A host starts its MCP servers after it is ready, and ends their programs when it shuts down."""

import asyncio
import os
import sys
from pathlib import Path

from sophon import Decision, ModelRequest, ModelResponse, Services, ToolCall
from sophon.testing import FunctionModel
from sophon_hosting.features.mcp.feature import MCP_SERVERS
from sophon_hosting.host import RunRequest
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore

SERVER = str(Path(__file__).parents[1] / "features/mcp/client/misbehaving_server.py")
FEATURED = str(Path(__file__).parents[1] / "features/mcp/client/featured_server.py")


async def test_a_host_runs_its_servers_until_it_shuts_down() -> None:
    server = {"Id": "bad", "Command": sys.executable, "Args": ["-I", SERVER]}
    services = Services(settings={"Mcp": {"Servers": [server]}}, store=SqlHostStore("memory://"))
    site = HostServer(services, {})
    address = bind_address("127.0.0.1", 0)
    with address.socket:
        await site.start(address)
        servers = site.host.feature_services.find(MCP_SERVERS)
        assert servers is not None
        assert "bad.echo" not in services.registry, "the host is ready before its servers"
        async with asyncio.timeout(30):
            await servers.wait_settled(30)
        assert "bad.echo" in services.registry
        assert len(_children()) == 1
        await site.shutdown(1)
    assert _children() == []


async def test_a_servers_question_reaches_the_user_of_the_turn_and_the_answer_its_call() -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        return f"Done: {last.content}" if last.role == "tool" else ModelResponse("", [ToolCall("c1", "srv.book", {})])

    server = {"Id": "srv", "Command": sys.executable, "Args": ["-I", FEATURED], "ReadOnly": ["book"]}
    settings = {
        "Mcp": {"Servers": [server]},
        "Approval": {"Questions": True},
        "Planning": {"Mode": "Never"},
        "ToolFilter": {"Top": 60},
    }
    services = Services(settings=settings, models=FunctionModel(answer), store=SqlHostStore("memory://"))
    site = HostServer(services, {})
    address = bind_address("127.0.0.1", 0)
    with address.socket:
        await site.start(address)
        servers = site.host.feature_services.find(MCP_SERVERS)
        assert servers is not None
        async with asyncio.timeout(60):
            await servers.wait_settled(60)
            receipt = await site.host.accept(RunRequest("Book a table", "s", "ada"))
            for text in ("3", "garden", "no", "(leave out)"):
                while not (found := await services.store.approvals.list()):
                    await asyncio.sleep(0.005)
                question = found[0].request
                assert question.preview.startswith("The MCP server srv asks, while it runs srv.book:")
                await site.host.approvals.decide(question.id, Decision.answer(text), "ada")
                while any(each.request.id == question.id for each in await services.store.approvals.list()):
                    await asyncio.sleep(0)
            while not (run := await services.store.runs.get(receipt.task_id)).is_finished:
                await asyncio.sleep(0.005)
        await site.shutdown(1)
    assert run.starts == 1
    assert run.response is not None
    assert 'accept: {"people":3,"room":"garden","smoking":false,"note":null}' in run.response["text"]


def _children() -> list[str]:
    """Programs of this test's servers that run as children of this process."""
    own = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, parent = (
                (folder / "cmdline").read_text(),
                (folder / "stat").read_text().rpartition(")")[2].split()[1],
            )
        except OSError:
            continue
        if SERVER in command and int(parent) == os.getpid():
            own.append(folder.name)
    return own
