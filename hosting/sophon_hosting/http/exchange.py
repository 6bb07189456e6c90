"""How requests are read and answers written: JSON by orjson, bodies and queries checked by pydantic."""

from collections.abc import Mapping
from typing import Any, TypeVar

import orjson
from aiohttp import web
from aiohttp.http import HttpProcessingError
from pydantic import BaseModel, ConfigDict, ValidationError

from sophon.errors import InputError
from sophon_hosting.desk import Desk
from sophon_hosting.events.frame import encoded
from sophon_hosting.failures import Failure, TooLarge
from sophon_hosting.host import Host

HOST = web.AppKey("host", Host)
DESK = web.RequestKey("desk", Desk)
TRACE = web.RequestKey("trace", str)
MOST_BYTES = 1_000_000
"""Of a request's body."""

MOST_PROBLEMS = 10
"""That are told at once."""


class Body(BaseModel):
    """JSON as it is, no unknown keys: both mistakes would otherwise be lost without a word."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class Query(BaseModel):
    """Parameters of an address: text that is read as what it is to be."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


M = TypeVar("M", bound=BaseModel)


def host_of(request: web.Request) -> Host:
    """The host behind the application."""
    return request.app[HOST]


def desk_of(request: web.Request) -> Desk:
    """What the user of the request may do."""
    return request[DESK]


async def body_of(request: web.Request, model: type[M]) -> M:
    """The body as a model; none is an empty object. Raises InputError, TooLarge."""
    raw = await _read(request)
    try:
        given: object = orjson.loads(raw) if raw.strip() else {}
    except orjson.JSONDecodeError as error:
        raise InputError(f"the body is no JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    return _checked(model, given, "body")


def check_length(length: int) -> None:
    """Raise TooLarge for a body of more than `MOST_BYTES`."""
    if length > MOST_BYTES:
        raise TooLarge("the body", length, MOST_BYTES, "bytes")


def query_of(request: web.Request, model: type[M]) -> M:
    """The parameters of the address as a model. Raises InputError."""
    twice = sorted(name for name in set(request.query) if len(request.query.getall(name)) > 1)
    if twice:
        raise InputError("; ".join(f"{name}: given more than once" for name in twice[:MOST_PROBLEMS]))
    return _checked(model, dict(request.query), "query")


def answer(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Plain data as JSON."""
    return web.Response(text=encoded(data), status=status, content_type="application/json", headers=headers)


def failed(failure: Failure) -> web.Response:
    """A failure as its status and body."""
    headers: dict[str, str] = {}
    if "retry_after_seconds" in failure.extra:
        headers["Retry-After"] = str(failure.extra["retry_after_seconds"])
    if failure.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="sophon"'
    return answer(failure.to_json(), failure.status, headers)


def _checked(model: type[M], given: object, where: str) -> M:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, each['loc'])) or where}: {each['msg'].removeprefix('Value error, ')}"
            for each in error.errors()[:MOST_PROBLEMS]
        ]
        raise InputError("; ".join(problems)) from None


async def _read(request: web.Request) -> bytes:
    """All of the body. One of unknown length is read as far as it may be long."""
    raw = bytearray()
    try:
        while len(raw) <= MOST_BYTES and (more := await request.content.read(MOST_BYTES + 1 - len(raw))):
            raw += more
    except (ConnectionError, HttpProcessingError, web.RequestPayloadError):
        raise InputError("the body broke off") from None
    check_length(len(raw))
    return bytes(raw)
