"""`sophon mcp serve` as MCP clients use it: a process of its own beside the host, over stdio and over HTTP."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from sophon import tool
from sophon.clock import SystemClock
from sophon_hosting.features.mcp.server import task_follower
from sophon_hosting.features.mcp.server.server import create_server
from sophon_hosting.operations.client import AsyncClient
from tests.fork_server import ForkedProcess
from tests.hosting.conftest import Command
from tests.hosting.features.mcp.server.conftest import PROGRAM, decide, environment

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@tool()
async def extra() -> str:
    """Do more."""
    return ""


@asynccontextmanager
async def over_stdio(url: str, folder: Path, **options: Any) -> AsyncIterator[Client]:
    """The client of a child process, which writes the protocol alone, and no error."""
    process = StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], "--url", url], env=environment("token-of-ada"), cwd=folder
    )
    seen: list[Any] = []

    async def note(message: Any) -> None:
        seen.append(message)

    with (folder / "errors").open("w") as errors:
        async with (
            Client(stdio_client(process, errlog=errors), **{"message_handler": note, **options}) as client,
            asyncio.timeout(60),
        ):
            yield client
    assert not [each for each in seen if isinstance(each, Exception)]
    assert "Traceback" not in (folder / "errors").read_text()


async def test_over_stdio_a_call_runs_after_approval_and_stdout_is_protocol_only(api: Any, tmp_path: Path) -> None:
    async with over_stdio(api.url, tmp_path) as client:
        assert {"ask_agent", "pay"} <= {each.name for each in (await client.list_tools()).tools}
        call = asyncio.create_task(client.call_tool("pay", {"to": "Bob"}))
        await decide(api, "ada", "approve")
        assert (await call).content[0].text == "paid Bob"
        with pytest.raises(MCPError, match=r"^there is no tool 'nothing'$"):
            await client.call_tool("nothing", {})
        await client.call_tool("ask_agent", {"message": "where is the needle", "session": "s"})
        found = await client.call_tool("sophon_search_messages", {"q": "needle"})
        assert {each["session_id"] for each in found.structured_content["items"]} == {"s"}
        async with client.listen(tools_list_changed=True) as news:
            while not api.host.services.toolbox.listeners:
                await asyncio.sleep(0)
            api.host.services.toolbox.replace("test", [extra])
            await anext(aiter(news))
        assert "extra" in {each.name for each in (await client.list_tools(cache_mode="bypass")).tools}


async def test_a_client_of_the_older_protocol_is_told_of_a_change_of_the_tools(api: Any, tmp_path: Path) -> None:
    told = asyncio.Event()

    async def note(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    async with over_stdio(api.url, tmp_path, mode="legacy", message_handler=note) as client:
        assert "extra" not in {each.name for each in (await client.list_tools()).tools}
        assert client.server_capabilities.tools.list_changed is True
        api.host.services.toolbox.replace("test", [extra])
        await told.wait()
        assert "extra" in {each.name for each in (await client.list_tools(cache_mode="bypass")).tools}


async def test_what_cannot_start_is_one_line(api: Any, process: Command) -> None:
    for arguments, token, says in (
        (("--url", "http://127.0.0.1:1"), {}, "no host runs at"),
        (("--url", api.url), {"SOPHON_TOKEN": "wrong"}, "token"),
        (("--url", api.url, "--http", "nowhere"), {}, "is not HOST:PORT"),
    ):
        ended = await asyncio.to_thread(process, "mcp", "serve", *arguments, **token)
        assert (ended.code, ended.out) == (1, ""), says
        assert ended.err.count("\n") == 1, ended.err
        assert says in ended.err


@asynccontextmanager
async def listening(url: str, folder: Path) -> AsyncIterator[str]:
    """Run `sophon mcp serve --http`, and return where it listens."""
    process = ForkedProcess(("mcp", "serve", "--url", url, "--http", "127.0.0.1:0"), folder, environment())
    line = await asyncio.to_thread(process.stderr.readline)
    try:
        assert line.startswith("MCP is at "), line
        yield line.removeprefix("MCP is at ").strip()
    finally:
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.communicate, 60)


async def test_over_http_each_request_needs_a_token_and_no_foreign_origin(api: Any, tmp_path: Path) -> None:
    async with listening(api.url, tmp_path) as url, httpx.AsyncClient(trust_env=False, headers=HEADERS) as plain:
        token = {"Authorization": "Bearer token-of-ada"}
        assert (await plain.post(url, json=PING)).status_code == 401
        assert (await plain.post(url, json=PING, headers={"Authorization": "Bearer wrong"})).status_code == 401
        foreign = await plain.post(url, json=PING, headers={**token, "Origin": "http://evil.example"})
        assert foreign.status_code == 403
        rebound = await plain.post(url, json=PING, headers={**token, "Host": "evil.example"})
        assert rebound.status_code == 421

        async with (
            httpx2.AsyncClient(headers=token, trust_env=False) as http_client,
            Client(streamable_http_client(url, http_client=http_client)) as client,
        ):
            await client.list_tools()
            call = asyncio.create_task(client.call_tool("pay", {"to": "Bob"}))
            await decide(api, "ada", "approve")
            assert (await call).content[0].text == "paid Bob"
            answer = await client.call_tool("ask_agent", {"message": "hello"})
            assert answer.structured_content["text"] == "HELLO"
            tasks = (await client.call_tool("sophon_list_tasks", {"limit": 1})).structured_content
            assert [each["task_id"] for each in tasks["items"]] == [answer.structured_content["task_id"]]


async def test_a_host_that_is_killed_is_one_clear_error(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_follower, "LOST_SECONDS", 0.0)
    world = program()
    serving = await asyncio.to_thread(world.serve)
    async with Client(create_server(lambda _: AsyncClient(serving.url, None), SystemClock())) as client:
        call = asyncio.create_task(client.call_tool("ask_agent", {"message": "wait"}))
        await world.appears("waiting")
        await serving.ended(signal.SIGKILL)
        with pytest.raises(MCPError, match=r"^no host answers at http:.*"):
            await call
