"""What an MCP server may do to its client: a message over the limit, lies and death cost one call; budget, pins."""

import json
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from sophon.mcp.bounded_stdio import TOO_LARGE, LineSplitter, open_stdio
from sophon.mcp.crash_budget import MAX_CRASHES, WINDOW_SECONDS, CrashBudget
from sophon.mcp.tool_pins import find_changed, hash_definition
from sophon.mcp.tool_risk import choose_risk
from sophon.risk import Risk

SERVER = [sys.executable, "-I", str(Path(__file__).with_name("misbehaving_server.py"))]

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def connect() -> AsyncIterator[Client]:
    async with Client(open_stdio(SERVER, {"GIVEN": "1"}), mode="legacy", read_timeout_seconds=20) as client:
        yield client


async def ask(client: Client, name: str) -> str:
    return (await client.call_tool(name, {})).content[0].text


async def test_a_flood_and_lies_cost_one_call_and_the_server_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    async with connect() as client:
        with pytest.raises(MCPError, match="over the size limit") as error:
            await ask(client, "flood")
        assert error.value.error.code == TOO_LARGE
        assert await ask(client, "lie") == "lie"
        assert await ask(client, "echo") == "echo"


async def test_the_server_gets_only_the_given_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPHON_CANARY", "secret")
    async with connect() as client:
        names = json.loads(await ask(client, "environment"))
    assert "GIVEN" in names
    assert not {"SOPHON_CANARY", "PATH", "HOME"} & set(names)


async def test_a_server_that_dies_ends_the_call() -> None:
    async with connect() as client:
        with pytest.raises(MCPError):
            await ask(client, "die")


def test_a_long_line_is_never_held() -> None:
    splitter = LineSplitter(1000)
    held = []
    for _ in range(100):
        assert list(splitter.feed(b"x" * 500)) == []
        held.append(splitter.held_bytes)
    assert max(held) <= 1000
    assert [cut for _, cut in splitter.feed(b"\nshort\n")] == [True, False]


def test_the_budget_ends_after_five_failures_within_a_minute_only() -> None:
    budget = CrashBudget()
    delays = [budget.record(float(second)) for second in range(MAX_CRASHES)]
    assert delays == [1.0, 2.0, 4.0, 8.0, None]
    slow = CrashBudget()
    assert None not in [slow.record(step * WINDOW_SECONDS / 4) for step in range(20)]


def test_every_part_of_a_definition_is_pinned() -> None:
    tool = {"name": "a", "description": "d", "inputSchema": {"type": "object", "properties": {}}}
    accepted = {"a": hash_definition(tool)}
    assert not find_changed(accepted, {"a": hash_definition(dict(reversed(tool.items())))})
    for change in ({"description": "e"}, {"inputSchema": {"type": "object"}}, {"annotations": {"readOnlyHint": True}}):
        assert find_changed(accepted, {"a": hash_definition({**tool, **change})}) == {"a"}
    assert find_changed(accepted, {"b": accepted["a"]}) == {"b"}


def test_annotations_raise_the_risk_and_never_lower_it() -> None:
    assert choose_risk(None) is choose_risk({"readOnlyHint": True, "destructiveHint": False}) is Risk.MEDIUM
    assert choose_risk({"destructiveHint": True, "readOnlyHint": True}) is Risk.HIGH
    assert choose_risk({"destructiveHint": "no"}) is Risk.HIGH
