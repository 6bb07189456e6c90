"""Operations as tools of MCP: what is declared with `as_tool`, described by its types and asked of the host."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import mcp_types as types

from sophon.errors import SophonError
from sophon.security import redact
from sophon_hosting.features.mcp.server.token_rights import has_permission
from sophon_hosting.features.registry import load_operations
from sophon_hosting.operations.client import AsyncClient
from sophon_hosting.operations.current_user import CurrentUser
from sophon_hosting.operations.json_schemas import JsonSchema, json_result, self_contained_schema
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import request_shape

PREFIX: Final = "sophon_"
"""Begins the name of each: names of operations alone could be those of tools of the host."""

ENDING_CODES: Final = frozenset({"unauthorized", "no_host"})
"""Error codes that no other arguments would change; a model is told about any other one, to correct its call."""


@cache
def load_operation_tools() -> Mapping[str, Operation[Any, Any]]:
    """Return the operations that are tools, by the name of the tool."""
    return {PREFIX + each.name: each for each in load_operations().operations if each.options.as_tool}


def list_operation_tools(me: CurrentUser) -> list[types.Tool]:
    """Return the tools that a token may use, as far as its permissions say so."""
    return [
        describe_operation(each, me)
        for each in load_operation_tools().values()
        if all(has_permission(me, needed) for needed in each.needs)
    ]


def describe_operation(operation: Operation[Any, Any], me: CurrentUser) -> types.Tool:
    """Return an operation as a tool, without the fields for which the token has no permission.

    What is not read counts as destructive, so that clients ask their user.
    """
    needs = request_shape(operation.request).needs
    takes, gives = _schemas(operation)
    fields = {
        name: field
        for name, field in takes.get("properties", {}).items()
        if name not in needs or needs[name].if_left_out or has_permission(me, needs[name].permission)
    }
    is_read = operation.method == "GET"
    return types.Tool(
        name=PREFIX + operation.name,
        description=" ".join(operation.description.split()),
        input_schema={**takes, "properties": fields},
        output_schema=gives,
        annotations=types.ToolAnnotations(read_only_hint=is_read, destructive_hint=not is_read),
    )


async def call_operation(
    api: AsyncClient, operation: Operation[Any, Any], arguments: Mapping[str, Any]
) -> types.CallToolResult:
    """Ask the host, and return its answer as structure and text, or its error as one that a model reads.

    Raises SophonError with a code of ENDING_CODES.
    """
    try:
        found = await api.call(operation, **arguments)
    except SophonError as error:
        if error.code in ENDING_CODES:
            raise
        content = types.TextContent(type="text", text=redact(" ".join(str(error).split())))
        return types.CallToolResult(content=[content], is_error=True)
    text = json.dumps(found, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=found)


@cache
def _schemas(operation: Operation[Any, Any]) -> tuple[JsonSchema, JsonSchema]:
    """Return the schemas of request and result."""
    request = self_contained_schema(request_shape(operation.request).model)
    return request, self_contained_schema(json_result(operation.result))
