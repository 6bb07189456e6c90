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

from sophon.errors import InvalidArguments
from sophon.risk import Risk
from sophon_hosting.features.mcp.client.resource_and_prompt_text import result_to_text
from sophon_hosting.features.mcp.client.server_tools import choose_risk
from sophon_hosting.features.mcp.client.stdio_transport import TOO_LARGE, LineSplitter, open_stdio
from sophon_hosting.features.mcp.client.supervised_server import MAX_CRASHES, WINDOW_SECONDS, CrashLimit
from sophon_hosting.features.mcp.client.tool_definition import (
    MAX_DEFINITION_BYTES,
    ToolDefinition,
    find_changed,
    hash_definition,
)

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
    budget = CrashLimit()
    delays = [budget.record(float(second)) for second in range(MAX_CRASHES)]
    assert delays == [1.0, 2.0, 4.0, 8.0, None]
    slow = CrashLimit()
    assert None not in [slow.record(step * WINDOW_SECONDS / 4) for step in range(20)]


def test_every_part_of_a_definition_is_pinned() -> None:
    tool = {"name": "a", "description": "d", "inputSchema": {"type": "object", "properties": {}}}
    accepted = {"a": hash_definition(tool)}
    assert not find_changed(accepted, {"a": hash_definition(dict(reversed(tool.items())))})
    for change in ({"description": "e"}, {"inputSchema": {"type": "object"}}, {"annotations": {"readOnlyHint": True}}):
        assert find_changed(accepted, {"a": hash_definition({**tool, **change})}) == {"a"}
    assert find_changed(accepted, {"b": accepted["a"]}) == {"b"}


@pytest.mark.parametrize(
    ("marks", "listed", "risk"),
    [
        (None, (), Risk.HIGH),
        ({}, (), Risk.HIGH),
        ({"destructiveHint": False}, (), Risk.HIGH),
        ({"readOnlyHint": False}, (), Risk.HIGH),
        ({"readOnlyHint": "true"}, (), Risk.HIGH),
        ({"readOnlyHint": True}, (), Risk.MEDIUM),
        ({"readOnlyHint": True, "destructiveHint": True}, (), Risk.HIGH),
        ({"destructiveHint": "no"}, ("*",), Risk.HIGH),
        (None, ("get_*",), Risk.MEDIUM),
        (None, ("list_*", "get"), Risk.HIGH),
    ],
)
def test_a_tool_that_is_not_known_to_only_read_is_of_high_risk(
    marks: dict[str, object] | None, listed: tuple[str, ...], risk: Risk
) -> None:
    assert choose_risk("get_page", marks, listed) is risk


def define(**given: object) -> ToolDefinition:
    return ToolDefinition.from_json({"name": "a", "inputSchema": {"type": "object"}, **given})


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, None),
        ({"name": "two words"}, "its name is not made of"),
        ({"name": "a\u202eb"}, "its name is not made of"),
        ({"name": "a" * 61}, "its name is too long"),
        ({"inputSchema": {"type": "array"}}, "not described as an object"),
        ({"description": "x" * MAX_DEFINITION_BYTES}, "its definition has"),
    ],
    ids=["good", "words", "invisible", "long", "array", "large"],
)
def test_a_definition_that_cannot_be_used_says_why(given: dict[str, object], fault: str | None) -> None:
    found = define(**given).find_fault("srv")
    assert found is None if fault is None else found is not None and fault in found


def test_what_nobody_is_shown_is_not_pinned_and_invisible_text_is_shown() -> None:
    assert define(_meta={"time": 1}, icons=[{"src": "x"}]).digest == define().digest
    assert define(title="other").digest != define().digest
    assert "U+202E" in define(description="a\u202eb").description


def test_arguments_are_checked_without_evaluating_the_schema() -> None:
    slow = {"type": "string", "pattern": "^(a+)+$"}
    schema = {"type": "object", "properties": {"text": slow}, "required": ["text"], "additionalProperties": False}
    definition = define(inputSchema=schema)
    definition.check_arguments("srv.a", {"text": "a" * 40 + "!"})  # evaluated, the pattern would take hours
    with pytest.raises(InvalidArguments, match="text: field required") as error:
        definition.check_arguments("srv.a", {"other": 1})
    assert "other: there is no such argument" in str(error.value)


def test_every_kind_of_content_becomes_text() -> None:
    content = [
        {"type": "text", "text": "one"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA", "mimeType": "x/y"}},
        {"type": "resource_link", "uri": "file:///c", "name": "three"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    ]
    text = result_to_text(content)
    assert "one" in text
    assert "[resource file:///a]\ntwo" in text
    assert "file:///b, x/y, about 3 bytes" in text
    assert "link to the resource file:///c: three" in text
    assert "[audio, audio/wav, about 3 bytes" in text
    assert "AAAA" not in text
    assert result_to_text([], {"a": 1}) == '{"a":1}'
    assert result_to_text([]) == ""
