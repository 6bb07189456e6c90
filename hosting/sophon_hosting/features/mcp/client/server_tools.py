"""Tools of the toolbox that a server's tools, resources and prompts become."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sophon.context import Context
from sophon.errors import InvalidArguments
from sophon.risk import Risk
from sophon.tools.argument_schema import ArgumentSchema
from sophon.tools.running_call import RUNNING_CALL
from sophon.tools.tool import Tool
from sophon_hosting.features.mcp.client.elicitation import ElicitingCall
from sophon_hosting.features.mcp.client.server_call import ServerCall, report_progress
from sophon_hosting.features.mcp.client.tool_definition import ToolDefinition

if TYPE_CHECKING:
    from sophon_hosting.features.mcp.client.server_connection import ServerConnection

Request: TypeAlias = "Callable[[ServerConnection, ServerCall], Awaitable[str]]"

Send: TypeAlias = "Callable[[str, Request, ServerCall], Awaitable[str]]"
"""Sends a request of the tool with this name over the connection of the moment."""

URI: Final = {"type": "string", "description": "URI of the resource; the variables of a template are filled in."}

NOTHING: Final[Mapping[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}

READING: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"uri": URI},
    "required": ["uri"],
    "additionalProperties": False,
}

PROMPT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Name of the prompt."},
        "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


class ServerTools:
    """Factory of the tools of one server; `question_seconds` is 0 if it may not ask people."""

    def __init__(
        self, server: str, call_seconds: float, question_seconds: float, send: Send, read_only: Sequence[str] = ()
    ) -> None:
        self._server, self._call_seconds, self._question_seconds = server, call_seconds, question_seconds
        self._send, self._read_only = send, read_only

    def create_tool(self, definition: ToolDefinition) -> Tool:
        """Return the tool of a definition."""
        description = definition.description or f"{self._server}.{definition.name}"

        def request(arguments: Mapping[str, Any]) -> Request:
            return lambda connection, call: connection.call_tool(definition.name, arguments, call)

        risk = choose_risk(definition.name, definition.annotations, self._read_only)
        return self._build(definition.name, description, definition, request, risk)

    def create_readers(self, *, has_resources: bool, has_prompts: bool) -> list[Tool]:
        """Return the tools that read what the server has; their risk is that of tools that only read."""
        server, tools = self._server, list[Tool]()
        if has_resources:
            tools += [
                self._build(
                    "resources.list",
                    f"Lists the resources of the MCP server {server}, and the templates of their URIs.",
                    _define("resources.list", NOTHING),
                    lambda _: lambda connection, call: connection.list_resources(call),
                ),
                self._build(
                    "resources.read",
                    f"Reads a resource of the MCP server {server}.",
                    _define("resources.read", READING),
                    lambda given: lambda connection, call: connection.read_resource(str(given["uri"]), call),
                ),
            ]
        if has_prompts:
            tools += [
                self._build(
                    "prompts.list",
                    f"Lists the prompts of the MCP server {server}, with their arguments.",
                    _define("prompts.list", NOTHING),
                    lambda _: lambda connection, call: connection.list_prompts(call),
                ),
                self._build(
                    "prompts.get",
                    f"Returns the text of a prompt of the MCP server {server}.",
                    _define("prompts.get", PROMPT),
                    lambda given: (
                        lambda connection, call: connection.get_prompt(
                            str(given["name"]), given.get("arguments", {}), call
                        )
                    ),
                ),
            ]
        return tools

    def _build(
        self,
        name: str,
        description: str,
        definition: ToolDefinition,
        request: Callable[[Mapping[str, Any]], Request],
        risk: Risk = Risk.MEDIUM,
    ) -> Tool:
        full_name = f"{self._server}.{name}"

        async def run(arguments: Mapping[str, Any], ctx: object) -> str:
            return await self._send(name, request(arguments), self._start_call(full_name, ctx))

        def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
            definition.check_arguments(full_name, arguments)
            if definition.schema in (READING, PROMPT):
                _check_texts(full_name, arguments)
            return {"arguments": dict(arguments)}

        return Tool(
            full_name,
            description,
            run,
            ArgumentSchema(lambda: (definition.schema, check), names=definition.parameters, wants_context=True),
            risk=risk,
            group=f"mcp:{self._server}",
            timeout_seconds=self._call_seconds,
            external=True,
            tags=(self._server,),
        )

    def _start_call(self, tool: str, ctx: object) -> ServerCall:
        """Return the call of a turn; one that no turn makes asks nobody and shows no progress."""
        running = RUNNING_CALL.get()
        if not isinstance(ctx, Context):
            return ServerCall()
        eliciting = None
        if running is not None and self._question_seconds > 0:
            eliciting = ElicitingCall(self._server, tool, ctx, running, self._question_seconds)
        return ServerCall(ctx, eliciting, report_progress(ctx, tool) if ctx.has_listeners else None)


def _define(name: str, schema: Mapping[str, Any]) -> ToolDefinition:
    return ToolDefinition(name, "", schema, None, "", 0)


def _check_texts(tool: str, arguments: Mapping[str, Any]) -> None:
    """Raise InvalidArguments unless all values are texts, or for `arguments` an object of texts."""
    faults = [
        f"{name}: must be {'an object of texts' if name == 'arguments' else 'a text'}"
        for name, value in arguments.items()
        if not (_is_texts(value) if name == "arguments" else isinstance(value, str))
    ]
    if faults:
        raise InvalidArguments(tool, faults)


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())  # pyright: ignore[reportUnknownVariableType]


def choose_risk(name: str, annotations: Mapping[str, object] | None, read_only: Sequence[str]) -> Risk:
    """Return the risk of the tool with this name at the server.

    Medium needs `readOnlyHint` of the server, or a pattern with `*` in `read_only`, the owner's list. A
    `destructiveHint` that is set to anything but false makes it high whatever else is said; `destructiveHint: false`
    alone says only that the tool adds, which a payment and a mail do too.
    """
    marks = annotations or {}
    destructive = marks.get("destructiveHint")
    if destructive is not None and destructive is not False:
        return Risk.HIGH
    is_known = marks.get("readOnlyHint") is True or any(fnmatchcase(name, pattern) for pattern in read_only)
    return Risk.MEDIUM if is_known else Risk.HIGH
