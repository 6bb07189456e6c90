"""Calls through the real `sophon mcp serve` over stdio: what guards, people, clients and restarts do to them."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from sophon import tool
from sophon.chain.placement import place
from sophon.security.authorization.api_tokens import digest_api_token, generate_api_token
from sophon_hosting.store.api_tokens.api_token import ApiToken
from sophon_middlewares.chains.additions import GUARD_ORDER, find_guards
from tests.hosting.features.mcp.server.conftest import PROGRAM, environment

TOKEN = "token-of-ada"


@tool()
async def extra() -> str:
    """Do more."""
    return ""


@asynccontextmanager
async def child(url: str, folder: Path, token: str | None = TOKEN, **options: Any) -> AsyncIterator[Client]:
    """The client of a child process, which writes no traceback."""
    process = StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], "--url", url], env=environment(token), cwd=folder
    )
    with (folder / "errors").open("w") as errors:
        async with Client(stdio_client(process, errlog=errors), **options) as client:
            yield client
    assert "Traceback" not in (folder / "errors").read_text()


class Progress:
    """Notes the progress of a call."""

    def __init__(self) -> None:
        self.numbers: list[float] = []
        self.texts: list[str] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.numbers.append(progress)
        self.texts.append(message or "")

    async def says(self, part: str) -> None:
        """Wait for a text."""
        async with asyncio.timeout(60):
            while not any(part in each for each in self.texts):
                await asyncio.sleep(0.01)


def text_of(result: Any) -> str:
    return str(result.content[0].text)


async def test_a_call_that_a_guard_blocks_is_an_error_that_names_the_guard(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    host = await serve(
        settings={"Tools": {"FilesRoot": str(tmp_path / "files")}},
        prepare_app=lambda host, _: host.replace_chain(
            place(host.chain, find_guards(host.services.settings.guards).values(), GUARD_ORDER)
        ),
    )
    async with child(host.url, tmp_path) as client:
        result = await client.call_tool("files.write", {"path": "SOUL.md", "content": "obey"})
    assert result.is_error is True
    assert "Protection" in text_of(result)
    assert not list(tmp_path.rglob("SOUL.md"))


async def test_a_call_that_the_client_cancels_never_runs(api: Any, tmp_path: Path) -> None:
    async with child(api.url, tmp_path) as client:
        progress = Progress()
        call = asyncio.create_task(client.call_tool("pay", {"to": "Bob"}, progress_callback=progress))
        await progress.says("waits for a person")
        ada = await api.open("ada")
        (task,) = (await ada.get("/api/tasks")).json()["items"]
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await api.until(task["task_id"], "cancelled")
        assert (await ada.get("/api/approvals?open_only=true")).json()["items"] == []
        assert (await client.call_tool("datetime.now", {})).is_error is False  # the connection goes on


async def test_a_token_that_is_revoked_ends_its_calls_and_offers_nothing_more(api: Any, tmp_path: Path) -> None:
    secret, tokens, now = generate_api_token(), api.host.services.store.api_tokens, datetime.now(UTC)
    await tokens.add(ApiToken("t1", digest_api_token(secret), "ada", "", ("CallTools",), now, now + timedelta(days=1)))
    async with child(api.url, tmp_path, secret) as client:
        progress = Progress()
        call = asyncio.create_task(client.call_tool("pay", {"to": "Bob"}, progress_callback=progress))
        await progress.says("waits for a person")
        await tokens.revoke("t1", now)
        with pytest.raises(MCPError, match="token") as raised:
            await call
        assert raised.value.error.data == {"code": "unauthorized"}
        with pytest.raises(MCPError, match="token"):
            await client.list_tools(cache_mode="bypass")
    assert secret not in (tmp_path / "errors").read_text()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_change_of_the_tools_is_told_to_the_client(api: Any, tmp_path: Path, mode: str) -> None:
    told = asyncio.Event()

    async def note(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    async with child(api.url, tmp_path, mode=mode, message_handler=note) as client:
        names = {each.name for each in (await client.list_tools()).tools}
        assert "extra" not in names
        assert client.server_capabilities.tools.list_changed is True
        if mode == "legacy":
            api.host.services.toolbox.replace("test", [extra])
            async with asyncio.timeout(60):
                await told.wait()
        else:
            async with asyncio.timeout(60), client.listen(tools_list_changed=True) as news:
                while not api.host.services.toolbox.listeners:
                    await asyncio.sleep(0.01)
                api.host.services.toolbox.replace("test", [extra])
                await anext(aiter(news))
        assert "extra" in {each.name for each in (await client.list_tools(cache_mode="bypass")).tools}


@pytest.mark.parametrize("kill", [signal.SIGTERM, signal.SIGKILL])
async def test_a_call_goes_on_after_a_restart_of_the_host_and_runs_once(
    program: Callable[..., Any], tmp_path: Path, kill: signal.Signals
) -> None:
    world = program()
    serving = await asyncio.to_thread(world.serve)
    async with child(serving.url, tmp_path, None) as client:
        progress = Progress()
        call = asyncio.create_task(client.call_tool("pay", {"to": "Bob"}, progress_callback=progress))
        await progress.says("waits for a person")
        await serving.ended(kill)
        with pytest.raises(MCPError, match="no host answers") as raised:
            await client.list_tools(cache_mode="bypass")
        assert raised.value.error.data == {"code": "no_host"}

        again = await asyncio.to_thread(world.serve, serving.port)
        async with httpx.AsyncClient(base_url=again.url, trust_env=False) as person:
            (asked,) = (await person.get("/api/approvals?open_only=true")).json()["items"]
            await person.post(f"/api/approvals/{asked['approval_id']}", json={"decision": "approve"})
            result = await call
            tasks = (await person.get("/api/tasks")).json()["items"]
    assert (result.is_error, text_of(result)) == (False, "paid Bob")
    assert world.paid() == ["Bob"]
    assert [each["tool_outcome"] for each in tasks] == ["completed"]
    assert progress.texts.count("pay: completed") == 1
    assert progress.numbers == sorted(set(progress.numbers))


SLOW = '''


@tool(group="slow")
async def slow() -> str:
    """Write a line, then wait."""
    with (HERE / "slow.txt").open("a") as file:
        file.write("ran\\n")
    (HERE / "waiting").touch()
    while not (HERE / "go").exists():
        await asyncio.sleep(0.01)
    return "done"
'''


async def test_a_call_that_a_crash_interrupts_is_not_repeated_and_its_outcome_is_said_once(
    program: Callable[..., Any], tmp_path: Path
) -> None:
    world = program()
    with (tmp_path / "brain.py").open("a") as file:
        file.write(SLOW)
    serving = await asyncio.to_thread(world.serve)
    async with child(serving.url, tmp_path, None) as client:
        progress = Progress()
        call = asyncio.create_task(client.call_tool("slow", {}, progress_callback=progress))
        await world.appears("waiting")
        await serving.ended(signal.SIGKILL)
        await asyncio.to_thread(world.serve, serving.port)
        result = await call
    assert result.is_error is True
    assert "unknown" in text_of(result)
    assert (tmp_path / "slow.txt").read_text() == "ran\n"
    assert len([each for each in progress.texts if each.startswith("slow: ")]) == 1
