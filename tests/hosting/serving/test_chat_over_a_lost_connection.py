"""`sophon chat --url` sends a message again with the same key if its connection is lost before the answer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sophon import Services
from sophon.testing import FunctionModel
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.programs.chat import socketio_connection
from sophon_hosting.programs.chat.approval_prompt import TerminalApprovalGate
from sophon_hosting.programs.chat.chat_session import TurnChoices
from sophon_hosting.programs.chat.remote_turn import RemoteTurnClient
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.programs import PATIENCE_SECONDS


class CuttingProxy:
    """A TCP proxy that cuts all connections in place of the first bytes of the host that name a task."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._pairs: list[asyncio.StreamWriter] = []
        self.cuts = 0
        self.url = ""

    async def serve(self) -> asyncio.Server:
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host_reader, host_writer = await asyncio.open_connection(*self._target)
        self._pairs += [writer, host_writer]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pass(reader, host_writer, can_cut=False))
            group.create_task(self._pass(host_reader, writer, can_cut=True))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, can_cut: bool) -> None:
        try:
            while data := await reader.read(65536):
                if can_cut and not self.cuts and b"task_id" in data:
                    self.cut()
                    return
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    def cut(self) -> None:
        self.cuts += 1
        for each in self._pairs:
            each.transport.abort()


@pytest.fixture
async def served() -> AsyncIterator[tuple[HostServer, CuttingProxy]]:
    async def answer(request: object) -> str:
        return "hello yourself"

    services = Services(
        models=FunctionModel(answer), settings={"Planning": {"Mode": "Never"}}, store=SqlHostStore("memory://")
    )
    server = HostServer(services, {})
    address = bind_address("127.0.0.1", 0)
    await server.start(address)
    proxy = CuttingProxy("127.0.0.1", int(address.url.rpartition(":")[2]))
    listening = await proxy.serve()
    yield server, proxy
    listening.close()
    proxy.cut()
    await server.shutdown(0)


async def test_a_message_whose_answer_is_lost_is_sent_again_with_its_key_and_runs_once(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, proxy = served
    # Only a connection that is noticed as lost is quick: without that, the acknowledgement is waited for.
    monkeypatch.setattr(socketio_connection, "RESPONSE_TIMEOUT_SECONDS", 10 * PATIENCE_SECONDS)
    gate: TerminalApprovalGate = None  # type: ignore[assignment] # nothing is asked
    notices: list[str] = []
    turn = RemoteTurnClient(proxy.url, None, gate, lambda event: None, notices.append)
    async with asyncio.timeout(2 * PATIENCE_SECONDS):
        response = await turn.run_turn("hello", TurnChoices(session="s"))
    assert (response.text, response.finish_reason) == ("hello yourself", "stop")
    assert (proxy.cuts, notices) == (1, ["connection lost; reconnecting"])
    assert [run.text for run in await server.services.store.runs.list()] == ["hello"]
