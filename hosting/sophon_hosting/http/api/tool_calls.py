"""`/api/tools/{name}/call`: one tool call outside of a conversation, as a task of its own."""

from typing import Any

from aiohttp import web

from sophon.messages import ToolCall
from sophon.trace_context import HEADER
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.features.tasks.results import receipt_to_json
from sophon_hosting.http.json_io import TRACE, RequestBody, get_authorized_host, json_response, parse_body


class ToolCallBody(RequestBody):
    """Body of a tool call; a repeated `client_message_id` returns the same task. No `session_id`: a new session."""

    arguments: dict[str, Any] = {}  # noqa: RUF012 - a payload copies its defaults
    session_id: str | None = None
    client_message_id: str | None = None


routes = web.RouteTableDef()


@routes.post("/api/tools/{name}/call")
async def call_tool(request: web.Request) -> web.Response:
    """Accept a tool call with 202; it is stored before the response, and runs as a task."""
    body, name = await parse_body(request, ToolCallBody), request.match_info["name"]
    message = ClientMessage(
        f"Call of the tool {name}",  # without the arguments: nothing says that a person wrote them
        session_id=body.session_id,
        client_message_id=body.client_message_id,
        stream=False,
        trace=request[TRACE],
        traceparent=request.headers.get(HEADER),
        call=ToolCall("", name, body.arguments),
    )
    receipt = await get_authorized_host(request).send_message(message)
    return json_response({"ok": True, **receipt_to_json(receipt, message.mode)}, 202 if receipt.created else 200)
