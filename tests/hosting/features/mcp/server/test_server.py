"""What an MCP client may list, call and read is what the host gives the user of its token."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import MCPError

from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.features.mcp.server.operation_tools import load_operation_tools
from tests.hosting.features.mcp.server.conftest import decide
from tests.hosting.features.tools.test_tools import LIMITED
from tests.hosting.http import conftest


def text_of(result: Any) -> str:
    return str(result.content[0].text)


class Progress:
    """Notes the progress of a call."""

    def __init__(self) -> None:
        self.numbers: list[float] = []
        self.texts: list[str] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.numbers.append(progress)
        self.texts.append(message or "")


async def test_a_user_sees_only_the_tools_that_they_may_use(serve: Any, connect: Callable[..., Any]) -> None:
    host = await serve(settings=LIMITED)
    ada, bob = await connect(host), await connect(host, "token-of-bob")
    assert {"ask_agent", "pay", "datetime.now"} <= {each.name for each in (await ada.list_tools()).tools}
    offered = {each.name for each in (await bob.list_tools()).tools}
    assert offered - load_operation_tools().keys() == {"ask_agent", "datetime.now"}
    with pytest.raises(MCPError, match=r"^there is no tool 'pay'$"):
        await bob.call_tool("pay", {"to": "Bob"})


@pytest.mark.parametrize(("verdict", "is_error"), [("approve", False), ("reject", True)])
async def test_a_call_waits_for_a_person_and_says_so(
    api: Any, connect: Callable[..., Any], verdict: str, is_error: bool
) -> None:
    client, progress = await connect(api), Progress()
    call = asyncio.create_task(client.call_tool("pay", {"to": "Bob"}, progress_callback=progress))
    await decide(api, "ada", verdict)
    result = await call
    assert result.is_error is is_error
    assert ("paid Bob" in text_of(result)) is not is_error
    assert ("pay: completed" in progress.texts) is not is_error
    assert any("waits for a person" in each for each in progress.texts)
    assert progress.numbers == sorted(set(progress.numbers))


async def test_the_agent_answers_with_structure_and_progress_in_the_named_session(
    api: Any, connect: Callable[..., Any]
) -> None:
    client, progress = await connect(api), Progress()
    await client.list_tools()
    first = await client.call_tool("ask_agent", {"message": "hello", "session": "s"}, progress_callback=progress)
    assert first.is_error is False
    assert first.structured_content["text"] == text_of(first) == "HELLO"
    assert (first.structured_content["finish_reason"], first.structured_content["session_id"]) == ("stop", "s")
    assert "started" in progress.texts

    resources = (await client.list_resources()).resources
    assert [str(each.uri) for each in resources] == ["sophon://sessions", "sophon://sessions/s"]
    transcript = json.loads((await client.read_resource("sophon://sessions/s")).contents[0].text)
    assert [each["content"] for each in transcript] == ["hello", "HELLO"]


@pytest.mark.parametrize(("scope", "offers"), [("Read", set()), ("Chat", {"ask_agent"}), ("CallTools", {"pay"})])
async def test_the_scope_decides_what_is_offered_and_what_runs(
    serve: Any, connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, scope: str, offers: set[str]
) -> None:
    monkeypatch.setitem(conftest.USERS, "token-of-limited", User("ada", scopes=frozenset({scope})))
    host = await serve()
    client = await connect(host, "token-of-limited")
    assert {each.name for each in (await client.list_tools()).tools} & {"ask_agent", "pay"} == offers
    for name, arguments in {"ask_agent": {"message": "hi"}, "stubborn": {}}.items():
        if not offers & ({"ask_agent"} if name == "ask_agent" else {"pay"}):
            with pytest.raises(MCPError, match=r"^this needs a token with the scope"):
                await client.call_tool(name, arguments)
    assert await host.host.services.store.runs.list() == []
