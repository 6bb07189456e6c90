"""The MCP server: what a client may list, call and read is what the host gives the user of its token."""

import json
import logging
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, cast
from urllib.parse import quote, unquote

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server

from sophon._python.lazy_dataclass import dataclass
from sophon._version import __version__
from sophon.clock import Clock
from sophon.errors import SophonError
from sophon.security import describe_error, redact
from sophon_hosting.features.mcp.server.operation_tools import (
    PREFIX,
    call_operation,
    list_operation_tools,
    load_operation_tools,
)
from sophon_hosting.features.mcp.server.task_follower import JsonRow, follow_task
from sophon_hosting.features.mcp.server.token_rights import has_permission
from sophon_hosting.features.mcp.server.tool_changes import ConnectionToolWatch, serve_subscription
from sophon_hosting.features.sessions.history_operations import list_messages
from sophon_hosting.features.sessions.operations import list_sessions
from sophon_hosting.features.tasks.message_operations import call_tool, send_message
from sophon_hosting.features.tools.operations import list_tools
from sophon_hosting.operations.client import AsyncClient, HostError
from sophon_hosting.operations.current_user import get_current_user

log = logging.getLogger("sophon.mcp")

Request = Any
"""mcp's ServerRequestContext, whose type parameters differ by transport."""

OpenApi = Callable[[Request], AbstractAsyncContextManager[AsyncClient]]
"""Returns the host's API with the token of who made a request."""

SESSIONS_URI = "sophon://sessions"

INVALID_CODES = frozenset({"not_found", "invalid_arguments", "input", "too_large"})
"""Error codes of the host that mean that the client asked for what there is not."""

MAX_TRANSCRIPT_BYTES = 1_000_000
"""A transcript is cut here, with a line that says so; the host's export has all of it."""

ASK_AGENT = "ask_agent"
"""Name of the tool that runs a turn of the agent."""

TURN_TOOLS = frozenset({"load_tools", "load_skills"})
"""Tools that only change what the rest of a turn may use, and so do nothing in a call of their own."""

ASK_AGENT_INPUT: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "minLength": 1, "description": "What to ask or tell the agent."},
        "session": {"type": "string", "minLength": 1, "description": "Session to continue; a new one without it."},
    },
    "required": ["message"],
    "additionalProperties": False,
}

ASK_AGENT_OUTPUT: Mapping[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("text", "finish_reason", "session_id", "task_id")},
    "required": ["text", "finish_reason", "session_id", "task_id"],
}

ANSWERED = frozenset({"stop", "length", "max_iterations"})
"""Finish reasons with which a turn has an answer."""


def create_server(
    open_api: OpenApi, clock: Clock, connection_watch: ConnectionToolWatch | None = None
) -> "Server[Any]":
    """Return the MCP server; `open_api` gives the API of the host for each request.

    `connection_watch` tells a client of the older protocol, which cannot ask for it, about changes of the tools; it is
    for a server that has one client.
    """
    handlers = _Handlers(open_api, clock, connection_watch)
    return Server(
        "sophon",
        version=__version__,
        instructions=(
            "Tools and the agent of a Sophon host. A call may wait for the approval of a person; progress "
            f"notifications say so. {ASK_AGENT} gives the agent a message and returns its answer; "
            f"tools named {PREFIX}... search, read and cancel what the user has on the host."
        ),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
        on_subscriptions_listen=handlers.listen,
    )


class _Handlers:
    """Handlers of the requests. Each opens the API with the token of its own request: a revoked one ends at once."""

    def __init__(self, open_api: OpenApi, clock: Clock, watch: ConnectionToolWatch | None) -> None:
        self._open_api, self._clock, self._watch = open_api, clock, watch

    async def list_tools(self, ctx: Request, params: Any) -> types.ListToolsResult:
        with _one_sentence():
            async with self._open_api(ctx) as api:
                me = await api.call(get_current_user)
                tools = [_agent_tool()] if has_permission(me, "Chat") else []
                tools += list_operation_tools(me)
                if has_permission(me, "CallTools"):
                    found = await api.call(list_tools)
                    # A call of one of the last means what stands in its place here.
                    replaced = TURN_TOOLS | {ASK_AGENT} | load_operation_tools().keys()
                    tools += [_to_tool(row) for row in found["items"] if row["name"] not in replaced]
                    if self._watch is not None:
                        self._watch.begin(ctx, found["version"])
        return types.ListToolsResult(tools=tools)

    async def listen(self, ctx: Request, params: Any) -> types.SubscriptionsListenResult:
        with _one_sentence():
            async with self._open_api(ctx) as api:
                watches = has_permission(await api.call(get_current_user), "CallTools")
                return await serve_subscription(ctx, params, api if watches else None, self._clock)

    async def call_tool(self, ctx: Request, params: Any) -> types.CallToolResult:
        arguments: dict[str, Any] = dict(params.arguments or {})
        key, steps = secrets.token_hex(10), 0

        async def report(text: str) -> None:
            nonlocal steps
            steps += 1
            await ctx.session.report_progress(float(steps), None, text)

        with _one_sentence():
            async with self._open_api(ctx) as api:
                if params.name == ASK_AGENT:
                    message, session_id = _read_question(arguments)
                    accepted = await api.call(
                        send_message, content=message, session_id=session_id, client_message_id=key, stream=False
                    )
                    return _to_result(result_of_turn(await follow_task(api, accepted, report, self._clock)))
                if (operation := load_operation_tools().get(params.name)) is not None:
                    return await call_operation(api, operation, arguments)
                if params.name in TURN_TOOLS:
                    raise HostError("not_found", f"there is no tool {params.name!r}")
                accepted = await api.call(call_tool, name=params.name, arguments=arguments, client_message_id=key)
                return _to_result(result_of_call(await follow_task(api, accepted, report, self._clock)))

    async def list_resources(self, ctx: Request, params: Any) -> types.ListResourcesResult:
        cursor = params.cursor if params is not None else None
        with _one_sentence():
            async with self._open_api(ctx) as api:
                if not has_permission(await api.call(get_current_user), "Read"):
                    return types.ListResourcesResult(resources=[])
                page = await api.call(list_sessions, cursor=cursor)
        own = [] if cursor else [types.Resource(uri=SESSIONS_URI, name="sessions", mime_type="application/json")]
        shown = [_to_resource(row) for row in page["items"]]
        return types.ListResourcesResult(resources=own + shown, next_cursor=page.get("next_cursor"))

    async def read_resource(self, ctx: Request, params: Any) -> types.ReadResourceResult:
        uri = str(params.uri)
        with _one_sentence():
            async with self._open_api(ctx) as api:
                if uri == SESSIONS_URI:
                    data: Any = (await api.call(list_sessions))["items"]
                elif uri.startswith(f"{SESSIONS_URI}/"):
                    data = await _read_transcript(api, unquote(uri.removeprefix(f"{SESSIONS_URI}/")))
                else:
                    raise HostError("not_found", f"there is no resource {uri!r}")
        text = json.dumps(data, ensure_ascii=False, indent=1)
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[contents])


@contextmanager
def _one_sentence() -> Generator[None]:
    """Turn every error into an MCP error with one sentence, without a traceback and without secrets."""
    try:
        yield
    except MCPError:
        raise
    except SophonError as error:
        code = types.INVALID_PARAMS if error.code in INVALID_CODES else types.INVALID_REQUEST
        code = types.INTERNAL_ERROR if error.code == "no_host" else code
        raise MCPError(code, redact(" ".join(str(error).split())), {"code": error.code}) from None
    except Exception as error:
        log.exception("a request failed")
        sentence = f"the request failed: {type(error).__name__}: {describe_error(error)}"
        raise MCPError(types.INTERNAL_ERROR, redact(sentence)) from None


def _read_question(arguments: dict[str, Any]) -> tuple[str, str | None]:
    message, session_id = arguments.pop("message", None), arguments.pop("session", None)
    if arguments:
        raise HostError("invalid_arguments", f"{ASK_AGENT} has no argument {next(iter(arguments))!r}")
    if not isinstance(message, str) or not message.strip():
        raise HostError("invalid_arguments", f"{ASK_AGENT} needs `message`, a text that is not empty")
    if session_id is not None and (not isinstance(session_id, str) or not session_id):
        raise HostError("invalid_arguments", "`session` must be the id of a session")
    return message, session_id


def _agent_tool() -> types.Tool:
    return types.Tool(
        name=ASK_AGENT,
        description="Ask the Sophon agent, which uses its own tools, memory and skills. Returns its answer.",
        input_schema=dict(ASK_AGENT_INPUT),
        output_schema=dict(ASK_AGENT_OUTPUT),
    )


def _to_tool(row: JsonRow) -> types.Tool:
    return types.Tool(
        name=row["name"],
        description=row["description"],
        input_schema={"type": "object", **row["parameters"]},
        annotations=types.ToolAnnotations(read_only_hint=row["risk"] == "none"),
        _meta={"sophon/group": row["group"], "sophon/risk": row["risk"]},
    )


@dataclass(frozen=True, slots=True)
class CallResult:
    """Result of a call; `structured` is None for a tool without an output schema."""

    text: str
    is_error: bool
    structured: Mapping[str, Any] | None = None


def _to_result(result: CallResult) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=result.text)]
    structured = None if result.structured is None else dict(result.structured)
    return types.CallToolResult(content=content, structured_content=structured, is_error=result.is_error)


def _to_resource(row: JsonRow) -> types.Resource:
    session_id = str(row["session_id"])
    return types.Resource(
        uri=f"{SESSIONS_URI}/{quote(session_id, safe='')}",
        name=session_id,
        title=row.get("title") or None,
        mime_type="application/json",
    )


async def _read_transcript(api: AsyncClient, session_id: str) -> list[JsonRow]:
    """Return the messages of a session, oldest first, up to `MAX_TRANSCRIPT_BYTES`."""
    found: list[JsonRow] = []
    after, size, more = 0, 0, True
    while more:
        page = await api.call(list_messages, session_id=session_id, after=after)
        rows, more = cast("list[JsonRow]", page["items"]), bool(page["more"])
        for row in rows:
            size += len(json.dumps(row))
            if size > MAX_TRANSCRIPT_BYTES:
                return [*found, {"cut": f"the messages from {row['seq']} on are left out; export the session instead"}]
            found.append(row)
        after = int(rows[-1]["seq"]) if rows else after
        more = more and bool(rows)
    return found


def result_of_call(task: Mapping[str, Any]) -> CallResult:
    """Return the result of a tool call from its finished task: an error unless the call completed."""
    return CallResult(_text_of(task), task.get("tool_outcome") != "completed")


def result_of_turn(task: Mapping[str, Any]) -> CallResult:
    """Return the result of `ask_agent` from its finished task: an error unless the turn has an answer."""
    reason = str(task.get("finish_reason") or task["status"])
    text = _text_of(task)
    structured = {"text": text, "finish_reason": reason, "session_id": task["session_id"], "task_id": task["task_id"]}
    return CallResult(text, reason not in ANSWERED, structured)


def _text_of(task: Mapping[str, Any]) -> str:
    if task.get("error"):
        return str(task["error"]["message"])
    if task["status"] == "cancelled":
        return str(task.get("answer") or "the task was cancelled")
    return str(task.get("answer") or "")
