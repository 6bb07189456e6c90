"""Requests to a running host with one user's token; an answer that is none becomes one sentence."""

from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

import httpx

from sophon.errors import SophonError
from sophon_hosting.operations.client import build_http_request
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Request

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")

JsonRow = Mapping[str, Any]


class HostRefused(SophonError):
    """The host answered with an error. `code` is its error code."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class HostUnreachable(SophonError):
    """The host does not answer."""

    code = "no_host"

    def __init__(self, url: str) -> None:
        super().__init__(f"the Sophon host at {url} does not answer")


class HostApi:
    """Operations of a host over HTTP, as one user. `call` raises HostRefused and HostUnreachable.

    Close it with `async with`. `token` is None for a host without users.
    """

    def __init__(self, url: str, token: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.url = url.rstrip("/")
        self._client = httpx.AsyncClient(base_url=self.url, headers=headers, trust_env=False, follow_redirects=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.aclose()

    async def call(self, operation: Operation[Q, R], **fields: Any) -> R:
        """Ask an operation with the given fields of its request; one that is None is left out."""
        given = {name: value for name, value in fields.items() if value is not None}
        sent = build_http_request(operation, operation.request.validate(given))
        try:
            response = await self._client.request(sent.pop("method"), sent.pop("path"), **sent)
        except httpx.HTTPError as error:
            raise HostUnreachable(self.url) from error
        return cast(R, _read(response, self.url))


def _read(response: httpx.Response, url: str) -> JsonRow:
    try:
        data: Any = response.json()
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise HostRefused("bad_answer", f"what answers at {url} is no Sophon host (status {response.status_code})")
    answer = cast("dict[str, Any]", data)
    if response.is_success:
        return answer
    error = answer.get("error")
    known = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    message = str(known.get("message") or f"the host answered with status {response.status_code}")
    raise HostRefused(str(known.get("code", "bad_answer")), message)
