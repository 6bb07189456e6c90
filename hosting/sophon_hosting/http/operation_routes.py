"""HTTP binding of operations: a route for each, whose request is read from path, query and body."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from aiohttp import hdrs, web

from sophon.errors import InputError
from sophon.traces.trace_context import HEADER
from sophon_hosting.client_api.authentication.client_authentication import ClientAuthenticator
from sophon_hosting.client_api.authentication.token_authentication import Unauthorized, User
from sophon_hosting.client_api.caller_connection import ServedProcess
from sophon_hosting.client_api.http_json import (
    PROCESS,
    TRACE,
    cacheable_json_response,
    get_caller,
    json_response,
    read_json_object,
)
from sophon_hosting.client_api.operation_reply import File, JsonLines, Reply
from sophon_hosting.host import Host
from sophon_hosting.http.bounded_body import CHUNK_BYTES, read_chunks, read_upload
from sophon_hosting.json_text import encode_json
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Upload, request_shape
from sophon_hosting.operations.validation_errors import MAX_REPORTED_PROBLEMS

CHECK_SECONDS = 1.0
"""Interval at which a waiting request looks whether log-in, client and host are still there."""


def operation_routes(operations: Iterable[Operation[Any, Any]]) -> list[web.RouteDef]:
    """Return the routes of the operations that HTTP offers; a fixed path before one with a field in its place."""
    offered = [each for each in operations if each.path]
    ordered = sorted(offered, key=lambda each: [part.startswith("{") for part in each.path.split("/")])
    return [_build_route(each) for each in ordered]


def _build_route(operation: Operation[Any, Any]) -> web.RouteDef:
    async def handle(request: web.Request) -> web.StreamResponse:
        caller = get_caller(request)
        operation.check(caller)
        values, upload = await _read_values(request, operation)
        asked = operation.request.validate(values, is_text=operation.has_query, upload=upload)
        result = await operation.call(caller, asked)
        return await _respond(request, operation, result, caller.reply)

    handle.__name__, handle.__doc__ = operation.name, operation.description
    if operation.method == hdrs.METH_GET:
        return web.get(operation.path, handle)
    return web.route(operation.method, operation.path, handle)


async def _read_values(request: web.Request, operation: Operation[Any, Any]) -> tuple[dict[str, Any], Upload | None]:
    """Return the fields of a request, and its body if that is a file. Raises InputError for one that is there twice."""
    upload = RequestUpload(request) if request_shape(operation.request).upload_field else None
    if operation.has_query:
        values = _read_query(request)
    else:
        if request.query:
            names = ", ".join(sorted(set(request.query))[:MAX_REPORTED_PROBLEMS])
            raise InputError(f"{names}: the query must be empty, fields go into the body")
        values = await read_json_object(request)
    for name in operation.path_fields:
        if name in values:
            raise InputError(f"{name}: it stands in the path, and once more in the request")
        values[name] = request.match_info[name]
    return values, upload


def _read_query(request: web.Request) -> dict[str, Any]:
    query = request.query
    if repeated := sorted(name for name in set(query) if len(query.getall(name)) > 1):
        raise InputError("; ".join(f"{name}: given more than once" for name in repeated[:MAX_REPORTED_PROBLEMS]))
    return dict(query)


async def _respond(
    request: web.Request, operation: Operation[Any, Any], result: Any, reply: Reply
) -> web.StreamResponse:
    if isinstance(result, File):
        return await _send_file(request, result)
    if isinstance(result, JsonLines):
        return await _send_lines(request, result)
    body = operation.to_answer(result)
    if operation.options.is_cacheable:
        return cacheable_json_response(request, body, reply.version)
    name = reply.file_name
    headers = None if name is None else {"Content-Disposition": content_disposition(name)}
    return json_response(body, reply.status or operation.options.status, headers)


async def _send_file(request: web.Request, file: File) -> web.StreamResponse:
    response = web.StreamResponse(headers={hdrs.CONTENT_DISPOSITION: content_disposition(file.name)})
    if file.content_security_policy:
        response.headers["Content-Security-Policy"] = file.content_security_policy
    response.content_type, response.content_length = file.media_type, len(file.content)
    if file.is_text:
        response.charset = "utf-8"
    await response.prepare(request)
    if request.method != hdrs.METH_HEAD:
        for start in range(0, len(file.content), CHUNK_BYTES):
            await response.write(file.content[start : start + CHUNK_BYTES])
    return response


async def _send_lines(request: web.Request, stream: JsonLines) -> web.StreamResponse:
    response = web.StreamResponse(headers={hdrs.CONTENT_TYPE: "application/x-ndjson; charset=utf-8"})
    # Before the headers, so that an error of the first one is an error to the client.
    first = await anext(stream.lines)
    await response.prepare(request)
    if request.method == hdrs.METH_HEAD:  # what follows its headers would be read as the next response
        return response
    await response.write(f"{encode_json(first)}\n".encode())
    async for each in stream.lines:
        await response.write(f"{encode_json(each)}\n".encode())
    await response.write_eof()
    return response


def content_disposition(name: str) -> str:
    """Return the header of a download under a name; one with other characters than ASCII in both forms of RFC 6266."""
    plain = "".join(char if char.isascii() and char not in '"\\%;' else "_" for char in name)
    if plain == name:
        return f'attachment; filename="{plain}"'
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


class RequestUpload:
    """Body of a request that is a file."""

    def __init__(self, request: web.Request) -> None:
        self._request = request

    @property
    def length(self) -> int | None:
        """Size in bytes that the client declared."""
        return self._request.content_length

    async def read(self, max_bytes: int, too_large: Exception) -> bytes:
        """See `Upload.read`."""
        return await read_upload(self._request, max_bytes, too_large)

    def chunks(self, max_bytes: int, too_large: Exception) -> AsyncGenerator[bytes]:
        """See `Upload.chunks`."""
        return read_chunks(self._request, max_bytes, too_large)


class RequestConnection:
    """Connection of the caller of one request."""

    def __init__(self, request: web.Request, host: Host, user: User, clients: ClientAuthenticator) -> None:
        self._request, self._host, self._user, self._clients = request, host, user, clients
        self.process: ServedProcess = request.app[PROCESS]
        self.trace: str = request[TRACE]
        self.traceparent: str | None = request.headers.get(HEADER)
        self.subscriptions = None

    async def wait_for_change(self, changed: asyncio.Event, deadline: float) -> bool:
        """See `Connection.wait_for_change`. Raises StoreUnavailable, too, if nobody can say if the log-in holds."""
        clock = self._host.services.clock
        while not changed.is_set() and not self._host.is_shutting_down and (left := deadline - clock.monotonic()) > 0:
            if self._request.transport is None:  # the client is gone
                break
            with suppress(TimeoutError):
                async with clock.timeout(min(left, CHECK_SECONDS)):
                    await changed.wait()
            if self._user.can_end and not await self._clients.is_still_valid(self._user):
                raise Unauthorized(token_given=True)
        return changed.is_set()
