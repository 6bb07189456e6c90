"""Operations that the MCP server offers as tools: with the schemas of their types and the rights of the token."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, MCPError

from sophon import tool
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.features.mcp.server.operation_tools import describe_operation, load_operation_tools
from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.features.tasks.operations import list_tasks
from sophon_hosting.features.usage.operations import get_usage
from tests.hosting.http import conftest

NOBODY: Any = {"user": "ada", "operator": False, "version": "", "level": "Full", "features": [], "scopes": None}


async def tools_of(client: Client) -> dict[str, Any]:
    return {each.name: each for each in (await client.list_tools()).tools if each.name in load_operation_tools()}


def test_what_is_a_tool_asks_nobody_so_it_reads_or_stops() -> None:
    assert [each.name for each in load_operation_tools().values() if each.method != "GET"] == ["cancel_task"]


def test_each_tool_takes_and_returns_an_object() -> None:
    for name, operation in load_operation_tools().items():
        found = describe_operation(operation, NOBODY)
        assert found.output_schema is not None, name
        assert (found.input_schema["type"], found.output_schema["type"]) == ("object", "object"), name
        assert "#/components" not in json.dumps([found.input_schema, found.output_schema]), name


async def test_a_tool_is_described_by_the_declaration(api: Any, connect: Callable[..., Any]) -> None:
    tools = await tools_of(await connect(api))
    assert set(tools) == set(load_operation_tools())
    shown, stopped = tools["sophon_get_task"], tools["sophon_cancel_task"]
    assert shown.description.startswith("Return one task, with its answer or error, and its sub-agents in `children`.")
    assert shown.input_schema["required"] == ["task_id"]
    assert shown.input_schema["additionalProperties"] is False
    assert "id of a task" in shown.input_schema["properties"]["task_id"]["description"]
    assert shown.annotations.read_only_hint is True
    assert (stopped.annotations.read_only_hint, stopped.annotations.destructive_hint) == (False, True)


async def test_a_field_for_operators_is_offered_to_operators_alone(api: Any, connect: Callable[..., Any]) -> None:
    for user, is_offered in (("ada", False), ("olga", True)):
        client = await connect(api, f"token-of-{user}")
        schema = (await tools_of(client))["sophon_list_tasks"].input_schema
        assert ("everything" in schema["properties"]) is is_offered, user
        result = await client.call_tool("sophon_list_tasks", {"everything": True})
        assert result.is_error is not is_offered, user


def test_a_field_whose_absence_needs_a_permission_is_offered_to_all() -> None:
    assert "session_id" in describe_operation(get_usage, NOBODY).input_schema["properties"]


async def test_a_call_returns_what_the_operation_does(api: Any, connect: Callable[..., Any]) -> None:
    client = await connect(api)
    answer = await client.call_tool("ask_agent", {"message": "hello", "session": "s"})
    await client.list_tools()  # its schemas check the structured results

    tasks = await client.call_tool("sophon_list_tasks", {"session_id": "s", "status": None})
    (task,) = tasks.structured_content["items"]
    assert task["task_id"] == answer.structured_content["task_id"]
    assert json.loads(tasks.content[0].text) == tasks.structured_content
    shown = await client.call_tool("sophon_get_task", {"task_id": task["task_id"]})
    assert shown.structured_content["answer"] == "HELLO"
    assert (await client.call_tool("sophon_cancel_task", {"task_id": task["task_id"]})).structured_content[
        "status"
    ] == "completed"
    messages = await client.call_tool("sophon_list_messages", {"session_id": "s"})
    assert [each["content"] for each in messages.structured_content["items"]] == ["hello", "HELLO"]


async def test_a_task_of_another_user_is_refused_like_one_that_does_not_exist(
    api: Any, connect: Callable[..., Any]
) -> None:
    ada, bob = await connect(api), await connect(api, "token-of-bob")
    task_id = (await ada.call_tool("ask_agent", {"message": "hello"})).structured_content["task_id"]
    for arguments in ({"task_id": task_id}, {"task_id": "nothing"}):
        result = await bob.call_tool("sophon_get_task", arguments)
        assert result.is_error is True
        assert result.content[0].text == f"there is no task {arguments['task_id']!r}"
    assert (await bob.call_tool("sophon_list_tasks", {})).structured_content["items"] == []


async def test_a_wrong_argument_is_an_error_that_names_it(api: Any, connect: Callable[..., Any]) -> None:
    client = await connect(api)
    for name, arguments, says in (
        ("sophon_list_tasks", {"limit": "many"}, "limit: "),
        ("sophon_list_tasks", {"limit": 0}, "limit: "),
        ("sophon_list_tasks", {"operation": "get_me"}, "operation: "),
        ("sophon_list_tasks", {"self": 1}, "self: "),
        ("sophon_get_task", {}, "task_id: "),
        ("sophon_get_task", {"task_id": ""}, "task_id: "),
    ):
        result = await client.call_tool(name, arguments)
        assert result.is_error is True, arguments
        assert result.content[0].text.startswith(says), arguments


async def test_a_token_that_may_only_read_cancels_nothing(
    serve: Any, connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(conftest.USERS, "token-of-reader", User("ada", scopes=frozenset({"Read"})))
    host = await serve()
    ada, reader = await connect(host), await connect(host, "token-of-reader")
    call = asyncio.create_task(ada.call_tool("pay", {"to": "Bob"}))
    client = await host.open("ada")
    async with asyncio.timeout(60):
        while not (waiting := (await client.get("/api/approvals?open_only=true")).json()["items"]):
            await asyncio.sleep(0)
    task_id = waiting[0]["task_id"]
    refused = await reader.call_tool("sophon_cancel_task", {"task_id": task_id})
    assert (refused.is_error, refused.content[0].text) == (True, "this needs a token with the scope CallTools")
    assert (await reader.call_tool("sophon_get_task", {"task_id": task_id})).is_error is False
    assert (await ada.call_tool("sophon_cancel_task", {"task_id": task_id})).is_error is False
    assert (await call).is_error is True


async def test_a_token_without_the_permission_is_not_offered_the_tool(
    serve: Any, connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(conftest.USERS, "token-of-chooser", User("ada", scopes=frozenset({"ChooseModel"})))
    client = await connect(await serve(), "token-of-chooser")
    assert (await client.list_tools()).tools == []
    refused = await client.call_tool("sophon_list_tasks", {})
    assert (refused.is_error, refused.content[0].text) == (True, "this needs a token with the scope Read")


async def test_a_tool_of_the_host_with_the_same_name_is_left_out(api: Any, connect: Callable[..., Any]) -> None:
    @tool(name="sophon_list_tasks")
    async def impostor() -> str:
        """Say something else."""
        return "else"

    api.host.services.toolbox.replace("test", [impostor])
    client = await connect(api)
    (found,) = [each for each in (await client.list_tools()).tools if each.name == "sophon_list_tasks"]
    assert found.description.startswith(list_tasks.summary)
    assert (await client.call_tool("sophon_list_tasks", {})).structured_content == {"items": [], "more": False}


async def test_a_token_that_the_host_refuses_ends_the_request(api: Any, connect: Callable[..., Any]) -> None:
    client = await connect(api, "wrong")
    with pytest.raises(MCPError, match="token") as raised:
        await client.call_tool("sophon_list_tasks", {})
    assert raised.value.error.data == {"code": "unauthorized"}


def test_each_operation_that_is_a_tool_is_offered() -> None:
    declared = [each for each in builtin_operations().operations if each.options.as_tool]
    assert list(load_operation_tools().values()) == declared
    assert all(each.path for each in declared)
