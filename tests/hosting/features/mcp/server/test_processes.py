"""`sophon mcp serve` as MCP clients use it: a process of its own beside the host, over stdio and over HTTP."""

import asyncio
import signal
import subprocess
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

from sophon.clock import SystemClock
from sophon_hosting.features.mcp.server import task_follower
from sophon_hosting.features.mcp.server.server import create_server
from sophon_hosting.operations.client import AsyncClient
from tests.hosting.features.mcp.server.conftest import PROGRAM, decide, environment

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def test_over_stdio_a_call_runs_after_approval_and_stdout_is_protocol_only(api: Any, tmp_path: Path) -> None:
    process = StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], "--url", api.url], env=environment("token-of-ada"), cwd=tmp_path
    )
    seen: list[Any] = []

    async def note(message: Any) -> None:
        seen.append(message)

    with (tmp_path / "errors").open("w") as errors:
        async with Client(stdio_client(process, errlog=errors), message_handler=note) as client:
            assert {"ask_agent", "pay"} <= {each.name for each in (await client.list_tools()).tools}
            call = asyncio.create_task(client.call_tool("pay", {"to": "Bob"}))
            await decide(api, "ada", "approve")
            assert (await call).content[0].text == "paid Bob"
            with pytest.raises(MCPError, match=r"^there is no tool 'nothing'$"):
                await client.call_tool("nothing", {})
    assert not [each for each in seen if isinstance(each, Exception)]
    assert "Traceback" not in (tmp_path / "errors").read_text()


@pytest.mark.parametrize(
    ("arguments", "token", "says"),
    [
        (["--url", "http://127.0.0.1:1"], None, "no host runs at"),
        ([], "wrong", "token"),
        (["--http", "nowhere"], None, "is not HOST:PORT"),
    ],
)
async def test_what_cannot_start_is_one_line(
    api: Any, tmp_path: Path, arguments: list[str], token: str | None, says: str
) -> None:
    where = [] if "--url" in arguments else ["--url", api.url]
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *where,
        *arguments,
        cwd=tmp_path,
        env=environment(token),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, errors = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert errors.count(b"\n") == 1
    assert says in errors.decode()


@asynccontextmanager
async def listening(url: str, folder: Path) -> AsyncIterator[str]:
    """Run `sophon mcp serve --http`, and return where it listens."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *("--url", url, "--http", "127.0.0.1:0"),
        cwd=folder,
        env=environment(),
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    line = (await process.stderr.readline()).decode()
    try:
        assert line.startswith("MCP is at "), line + (await process.stderr.read()).decode()
        yield line.removeprefix("MCP is at ").strip()
    finally:
        process.send_signal(signal.SIGTERM)
        await process.communicate()


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
