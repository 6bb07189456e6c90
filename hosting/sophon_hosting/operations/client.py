"""Client of a host: calls of operations with typed results, over HTTP or in this process."""

from collections.abc import AsyncGenerator
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import quote

import httpx

from sophon.errors import SophonError
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Request, request_shape

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")

QUERY_METHODS = frozenset({"GET", "DELETE"})
"""Methods of HTTP whose fields are in the query."""


class HostError(SophonError):
    """The host answered with an error, or did not answer. `code` is the error code of the host, or `no_host`."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class Send(Protocol):
    """Carries the request of an operation to a host and returns its result. Raises SophonError."""

    def __call__(self, operation: Operation[Any, Any], request: Request) -> Any: ...


class Client:
    """What a program or a command asks of a host: every operation by one method. `send` is the way to the host.

    `user` and `is_operator` say as whom: the lists of an operator have what belongs to all users (`everything`).
    """

    def __init__(self, send: Send, user: str, *, is_operator: bool) -> None:
        self._send, self.user, self.is_operator = send, user, is_operator

    def call(self, operation: Operation[Q, R], **fields: Any) -> R:
        """Ask an operation with the given fields of its request; one that is None is left out. An upload is of bytes.

        Raises InputError before anything is sent, and SophonError.
        """
        given = {name: value for name, value in fields.items() if value is not None}
        content = given.pop(request_shape(operation.request).upload_field, None)
        upload = None if content is None else BytesUpload(content)
        return self.send(operation, operation.request.validate(given, upload=upload))

    def send(self, operation: Operation[Q, R], request: Q) -> R:
        """Ask an operation with a request, whose fields may be null. Raises SophonError."""
        return cast(R, self._send(operation, request))


class BytesUpload:
    """File to upload that is in memory."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    @property
    def length(self) -> int:
        """Size in bytes."""
        return len(self.content)

    async def read(self, max_bytes: int, too_large: Exception) -> bytes:
        """See `Upload.read`."""
        if len(self.content) > max_bytes:
            raise too_large
        return self.content

    async def chunks(self, max_bytes: int, too_large: Exception) -> AsyncGenerator[bytes]:
        """See `Upload.chunks`."""
        yield await self.read(max_bytes, too_large)


class HttpSend:
    """Sends requests over HTTP, each with the token."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url, self._headers = url.rstrip("/"), {"Authorization": f"Bearer {token}"} if token else {}

    def __call__(self, operation: Operation[Any, Any], request: Request) -> Any:
        """Return the JSON of the answer. Raises HostError."""
        return read_answer(self._url, self._send(**build_http_request(operation, request)))

    def _send(self, method: str, path: str, timeout: float = 60.0, **content: Any) -> httpx.Response:
        url, headers = self._url + path, {**self._headers, **content.pop("headers", {})}
        try:
            return httpx.request(method, url, headers=headers, timeout=timeout, trust_env=False, **content)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise HostError(
                "no_host", f"no host answers at {self._url}: {str(error) or type(error).__name__}"
            ) from error


def build_http_request(operation: Operation[Any, Any], request: Request) -> dict[str, Any]:
    """Return the request of an operation as arguments of `httpx.request`, with the path as `path`."""
    fields = request.given()
    path = operation.path.format_map({name: quote(str(fields.pop(name)), safe="") for name in operation.path_fields})
    sent: dict[str, Any] = {"method": operation.method, "path": path, "timeout": operation.options.seconds}
    upload_field = request_shape(type(request)).upload_field
    if not upload_field and operation.method not in QUERY_METHODS:
        return {**sent, "json": fields}
    sent["params"] = {name: _to_text(value) for name, value in fields.items()}
    if upload_field:
        upload: BytesUpload = getattr(request, upload_field)
        sent |= {"content": upload.content, "headers": {"Content-Type": "application/octet-stream"}}
    return sent


def read_answer(url: str, response: httpx.Response) -> Any:
    """Return the JSON of an answer. Raises HostError for an error of the host, and for what no host answers."""
    try:
        data: Any = response.json()
        if response.is_success:
            return data
        raise HostError(data["error"]["code"], data["error"]["message"])
    except (ValueError, KeyError, TypeError) as error:
        raise HostError("no_host", f"the server at {url} is not a Sophon host") from error


def _to_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
