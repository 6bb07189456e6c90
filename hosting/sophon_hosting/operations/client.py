"""Clients of a host: calls of operations with typed results, over HTTP or in this process."""

import re
from collections.abc import AsyncGenerator
from typing import Any, Protocol, Self, TypeVar, cast
from urllib.parse import quote

import httpx

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import InputError, SophonError
from sophon_hosting.client_api.operation_reply import File
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Request, request_shape

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")

_FILE_NAME = re.compile(r'attachment; filename="(?P<name>[^"]*)"')


class HostError(SophonError):
    """The host answered with an error, or did not answer. `code` is the error code of the host, or `no_host`."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class HostUnreachable(HostError):
    """The host does not answer (code `no_host`)."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__("no_host", f"no host answers at {url}: {reason}")


class Send(Protocol):
    """Carries the request of an operation to a host and returns its result. Raises SophonError."""

    def __call__(self, operation: Operation[Any, Any], request: Request) -> Any: ...


class Client:
    """What a program or a command asks of a host: every operation by one method. `send` is the way to the host.

    `user` and `is_operator` say as whom: the lists of an operator have what belongs to all users (`everything`).
    """

    def __init__(self, send: Send, user: str, *, is_operator: bool) -> None:
        self._send, self.user, self.is_operator = send, user, is_operator

    def call(self, operation: Operation[Q, R], /, **fields: Any) -> R:
        """Ask an operation with the given fields of its request; one that is None is left out, a file is bytes.

        Raises InputError before anything is sent, and SophonError.
        """
        return self.send(operation, build_request(operation, fields))

    def send(self, operation: Operation[Q, R], request: Q) -> R:
        """Ask an operation with a request, whose fields may be null. Raises SophonError."""
        return cast(R, self._send(operation, request))


class HttpSend:
    """Sends requests over HTTP, each with the token."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url, self._headers = url.rstrip("/"), authorization(token)

    def __call__(self, operation: Operation[Any, Any], request: Request) -> Any:
        """Return the JSON of the answer, or the file. Raises HostError."""
        call = HttpCall.of(operation, request)
        try:
            url, headers = self._url + call.path, self._headers | call.headers
            response = httpx.request(call.method, url, headers=headers, trust_env=False, **call.options)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise _unanswered(self._url, error) from error
        return read_answer(self._url, response)


class AsyncClient:
    """Asynchronous client over HTTP, for programs and tests: `async with AsyncClient(url, token) as host`.

    It keeps connections open between calls; tasks may share it.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(base_url=self.url, headers=authorization(token), trust_env=False)

    async def call(self, operation: Operation[Q, R], /, **fields: Any) -> R:
        """Ask an operation; see `Client.call`. Raises InputError before it is sent, HostError, HostUnreachable."""
        call = HttpCall.of(operation, build_request(operation, fields))
        try:
            response = await self._http.request(call.method, call.path, headers=call.headers, **call.options)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise _unanswered(self.url, error) from error
        return cast(R, read_answer(self.url, response))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._http.aclose()


@dataclass(frozen=True, slots=True)
class HttpCall:
    """Request of an operation as HTTP carries it; `options` are those of httpx."""

    method: str
    path: str
    headers: dict[str, str]
    options: dict[str, Any]

    @classmethod
    def of(cls, operation: Operation[Any, Any], request: Request) -> "HttpCall":
        """Return the call: fields of the path in the path, the others in query or body. Raises InputError."""
        if not operation.path:
            raise InputError(f"{operation.name} is offered over Socket.IO only")
        fields, headers = request.given(), dict[str, str]()
        path = operation.path.format_map(
            {name: _to_segment(name, str(fields.pop(name))) for name in operation.path_fields}
        )
        options: dict[str, Any] = {"timeout": operation.options.seconds}
        upload = request_shape(type(request)).upload_field
        if upload:
            headers["Content-Type"], options["content"] = "application/octet-stream", getattr(request, upload).content
        if operation.has_query:
            options["params"] = {name: _to_text(value) for name, value in fields.items()}
        else:
            options["json"] = fields
        return cls(operation.method, path, headers, options)


class BytesUpload:
    """File of a request that is in memory."""

    def __init__(self, content: bytes) -> None:
        self.content, self.length = content, len(content)

    async def read(self, max_bytes: int, too_large: Exception) -> bytes:
        """See `Upload.read`."""
        if self.length > max_bytes:
            raise too_large
        return self.content

    async def chunks(self, max_bytes: int, too_large: Exception) -> AsyncGenerator[bytes]:
        """See `Upload.chunks`."""
        yield await self.read(max_bytes, too_large)


def build_request(operation: Operation[Q, Any], fields: dict[str, Any]) -> Q:
    """Return the request of the given fields, without those that are None. Raises InputError."""
    given = {name: value for name, value in fields.items() if value is not None}
    upload = request_shape(operation.request).upload_field
    content = given.pop(upload, b"") if upload else b""
    return operation.request.validate(given, upload=BytesUpload(content) if upload else None)


def read_answer(url: str, response: httpx.Response) -> Any:
    """Return the JSON of an answer, or a file. Raises HostError for an error of the host, and for what is no host."""
    media_type, _, charset = response.headers.get("Content-Type", "").partition(";")
    if response.is_success and (name := _FILE_NAME.match(response.headers.get("Content-Disposition", ""))):
        return File(response.content, media_type, name["name"], is_text=bool(charset))
    try:
        data: Any = response.json()
        if response.is_success:
            return data
        raise HostError(data["error"]["code"], data["error"]["message"])
    except (ValueError, KeyError, TypeError) as error:
        raise HostError("no_host", f"the server at {url} is not a Sophon host") from error


def authorization(token: str | None) -> dict[str, str]:
    """Return the header of a token; none without one."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def _unanswered(url: str, error: Exception) -> HostUnreachable:
    return HostUnreachable(url, str(error) or type(error).__name__)


def _to_segment(name: str, text: str) -> str:
    """Return the value of a field as one segment of a path; as it is, one of dots would name another path.

    Raises InputError for an empty one, which would, too.
    """
    if not text:
        raise InputError(f"{name}: it must not be empty")
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="")


def _to_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
