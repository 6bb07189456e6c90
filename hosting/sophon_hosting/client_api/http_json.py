"""JSON bodies of requests, JSON responses, and keys of request-scoped values."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, cast

import orjson
from aiohttp import web
from aiohttp.http import HttpProcessingError

from sophon.errors import InputError
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.caller_connection import ServedProcess
from sophon_hosting.client_api.client_errors import ErrorPayload, TooLarge
from sophon_hosting.host import Host
from sophon_hosting.json_text import encode_json

HOST = web.AppKey("host", Host)
CALLER = web.RequestKey("caller", Caller)
PROCESS = web.AppKey("process", ServedProcess)
TRACE = web.RequestKey("trace", str)
"""Trace id of the request."""

RESPONSE_STARTED = web.RequestKey("response_started", bool)
"""Set on a request when its response has started."""

MAX_BODY_BYTES = 1_000_000
"""Maximum size of a request body in bytes."""


def get_host(request: web.Request) -> Host:
    """Return the host of the application."""
    return request.app[HOST]


def get_caller(request: web.Request) -> Caller:
    """Return the caller of the authenticated user."""
    return request[CALLER]


async def read_json_object(request: web.Request) -> dict[str, Any]:
    """Return the fields of the body; an empty one counts as an empty object. Raises InputError, TooLarge."""
    raw = await _read(request)
    try:
        data: object = orjson.loads(raw) if raw.strip() else {}
    except orjson.JSONDecodeError as error:
        message = f"the body is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        raise InputError(message) from None
    if not isinstance(data, dict):
        raise InputError("body: it must be an object")
    return cast(dict[str, Any], data)


def check_body_length(length: int) -> None:
    """Raise TooLarge if a body of this many bytes exceeds `MAX_BODY_BYTES`."""
    if length > MAX_BODY_BYTES:
        raise TooLarge("the body", length, MAX_BODY_BYTES, "bytes")


def json_response(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return a JSON response."""
    return web.Response(text=encode_json(data), status=status, content_type="application/json", headers=headers)


def cacheable_json_response(request: web.Request, data: Any, version: str | None = None) -> web.Response:
    """Return a JSON response with an ETag, or 304 if the client has that version; it must ask again each time.

    A cached response must not outlive the permission to read it. `version` is the ETag; default: the body's hash.
    """
    text = encode_json(data)
    etag = version or sha256(text.encode()).hexdigest()
    headers = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Origin"}
    known = request.if_none_match or ()
    if any(each.value in (etag, "*") for each in known):
        response = web.Response(status=304, headers=headers)
    else:
        response = web.Response(text=text, content_type="application/json", headers=headers)
    response.etag = etag
    return response


def error_response(payload: ErrorPayload) -> web.Response:
    """Return the JSON response of a failure, with its status, `Retry-After` and `WWW-Authenticate` if they apply."""
    headers: dict[str, str] = {}
    if "retry_after_seconds" in payload.extra:
        headers["Retry-After"] = str(payload.extra["retry_after_seconds"])
    if payload.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="sophon"'
    return json_response(payload.to_json(), payload.status, headers)


async def is_body_empty(request: web.Request) -> bool:
    """Read the beginning of a body that is refused unless it is empty. Raises InputError."""
    return not await _read_chunk(request, 1)


async def _read(request: web.Request) -> bytes:
    """Return the whole body, reading at most one byte beyond the limit. Raises TooLarge, InputError."""
    raw = bytearray()
    while len(raw) <= MAX_BODY_BYTES and (chunk := await _read_chunk(request, MAX_BODY_BYTES + 1 - len(raw))):
        raw += chunk
    check_body_length(len(raw))
    return bytes(raw)


async def _read_chunk(request: web.Request, max_bytes: int) -> bytes:
    try:
        return await request.content.read(max_bytes)
    except (ConnectionError, HttpProcessingError, web.RequestPayloadError):
        raise InputError("the body is incomplete: the connection was closed") from None
