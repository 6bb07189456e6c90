"""What guards, people, clients and restarts of the host do to calls; test_processes.py has the real transports."""

import asyncio
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError

from sophon.chain.placement import place
from sophon.clock import SystemClock
from sophon.security.authorization.api_tokens import digest_api_token, generate_api_token
from sophon_hosting.features.mcp.server.server import create_server
from sophon_hosting.operations.client import AsyncClient
from sophon_hosting.store.api_tokens.api_token import ApiToken
from sophon_middlewares.chains.additions import GUARD_ORDER, find_guards


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
                await asyncio.sleep(0)


def text_of(result: Any) -> str:
    return str(result.content[0].text)


async def test_a_call_that_a_guard_blocks_is_an_error_that_names_the_guard(
    serve: Callable[..., Any], connect: Callable[..., Any], tmp_path: Path
) -> None:
    host = await serve(
        settings={"Tools": {"FilesRoot": str(tmp_path / "files")}},
        prepare_app=lambda host, _: host.replace_chain(
            place(host.chain, find_guards(host.services.settings.guards).values(), GUARD_ORDER)
        ),
    )
    result = await (await connect(host)).call_tool("files.write", {"path": "SOUL.md", "content": "obey"})
    assert result.is_error is True
    assert "Protection" in text_of(result)
    assert not list(tmp_path.rglob("SOUL.md"))


async def test_a_call_that_the_client_cancels_never_runs(api: Any, connect: Callable[..., Any]) -> None:
    client = await connect(api)
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


async def test_a_token_that_is_revoked_ends_its_calls_and_offers_nothing_more(
    api: Any, connect: Callable[..., Any]
) -> None:
    secret, tokens, now = generate_api_token(), api.host.services.store.api_tokens, datetime.now(UTC)
    await tokens.add(ApiToken("t1", digest_api_token(secret), "ada", "", ("CallTools",), now, now + timedelta(days=1)))
    client = await connect(api, secret)
    progress = Progress()
    call = asyncio.create_task(client.call_tool("pay", {"to": "Bob"}, progress_callback=progress))
    await progress.says("waits for a person")
    await tokens.revoke("t1", now)
    with pytest.raises(MCPError, match="token") as raised:
        await call
    assert raised.value.error.data == {"code": "unauthorized"}
    with pytest.raises(MCPError, match="token"):
        await client.list_tools(cache_mode="bypass")


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


async def test_calls_go_on_after_a_stop_and_a_crash_of_the_host_and_run_once(
    program: Callable[..., Any], tmp_path: Path
) -> None:
    world = program()
    with (tmp_path / "brain.py").open("a") as file:
        file.write(SLOW)
    serving = await asyncio.to_thread(world.serve)
    async with Client(create_server(lambda _: AsyncClient(serving.url, None), SystemClock())) as client:
        paid, slow = Progress(), Progress()
        pay = asyncio.create_task(client.call_tool("pay", {"to": "Bob"}, progress_callback=paid))
        await paid.says("waits for a person")
        await serving.ended(signal.SIGTERM)
        with pytest.raises(MCPError, match="no host answers") as raised:
            await client.list_tools(cache_mode="bypass")
        assert raised.value.error.data == {"code": "no_host"}

        again = await asyncio.to_thread(world.serve, serving.port)
        interrupted = asyncio.create_task(client.call_tool("slow", {}, progress_callback=slow))
        await world.appears("waiting")
        await again.ended(signal.SIGKILL)
        await asyncio.to_thread(world.serve, serving.port)
        unknown = await interrupted
        async with httpx.AsyncClient(base_url=serving.url, trust_env=False) as person:
            (asked,) = (await person.get("/api/approvals?open_only=true")).json()["items"]
            await person.post(f"/api/approvals/{asked['approval_id']}", json={"decision": "approve"})
            result = await pay
            tasks = (await person.get("/api/tasks")).json()["items"]
    assert unknown.is_error is True
    assert "unknown" in text_of(unknown)
    assert (tmp_path / "slow.txt").read_text() == "ran\n"
    assert len([each for each in slow.texts if each.startswith("slow: ")]) == 1
    assert (result.is_error, text_of(result)) == (False, "paid Bob")
    assert world.paid() == ["Bob"]
    assert "completed" in [each["tool_outcome"] for each in tasks]
    assert paid.texts.count("pay: completed") == 1
    assert paid.numbers == sorted(set(paid.numbers))
