"""Requests to a running host with one user's token; an answer that is none becomes one sentence."""

from collections.abc import Mapping
from typing import Any, Self, cast
from urllib.parse import quote

import httpx

from sophon.errors import SophonError

TIMEOUT_SECONDS = 30.0
EVENTS_PER_PAGE = 1000
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
    """HTTP API of a host (docs/api.md), as one user. Every method raises HostRefused and HostUnreachable.

    Close it with `async with`. `token` is None for a host without users.
    """

    def __init__(self, url: str, token: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.url = url.rstrip("/")
        self._client = httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False, follow_redirects=False
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.aclose()

    async def get_me(self) -> JsonRow:
        """Return the user of the token and its scopes."""
        return await self._request("GET", "/api/me")

    async def list_tools(self) -> JsonRow:
        """Return the tools that the user may use as `items`, and their `version`."""
        return await self._request("GET", "/api/tools")

    async def wait_for_tools(self, version: str, wait_seconds: float) -> str:
        """Return the version of the user's tools once it is another one; the same after so long."""
        query = f"after={quote(version, safe='')}&wait={wait_seconds:g}"
        return str((await self._request("GET", f"/api/tools/version?{query}"))["version"])

    async def call_tool(self, name: str, arguments: Mapping[str, Any], key: str) -> JsonRow:
        """Begin a tool call as a task; the same `key` begins one."""
        body = {"arguments": dict(arguments), "client_message_id": key}
        return await self._request("POST", f"/api/tools/{_segment(name)}/call", body)

    async def send_message(self, text: str, session_id: str | None, key: str) -> JsonRow:
        """Send a message to the agent as a task; the same `key` sends one."""
        body = {"content": text, "client_message_id": key, "stream": False}
        return await self._request(
            "POST", "/api/tasks", body if session_id is None else body | {"session_id": session_id}
        )

    async def get_task(self, task_id: str) -> JsonRow:
        """Return a task, with its answer or error once it is finished."""
        return await self._request("GET", f"/api/tasks/{_segment(task_id)}")

    async def list_events(self, session_id: str, after: int, wait_seconds: float) -> JsonRow:
        """Return a page of the stored events of a session after a seq; wait for the first of it, if need be."""
        query = f"after={after}&limit={EVENTS_PER_PAGE}&wait={wait_seconds:g}"
        return await self._request("GET", f"/api/sessions/{_segment(session_id)}/events?{query}")

    async def cancel_task(self, task_id: str) -> None:
        """Cancel a task; a finished one does not change."""
        await self._request("POST", f"/api/tasks/{_segment(task_id)}/cancel")

    async def list_sessions(self, cursor: str | None) -> JsonRow:
        """Return a page of the user's sessions."""
        return await self._request("GET", "/api/sessions" + (f"?cursor={quote(cursor, safe='')}" if cursor else ""))

    async def list_messages(self, session_id: str, after: int) -> JsonRow:
        """Return a page of the messages of a session, after a seq."""
        return await self._request("GET", f"/api/sessions/{_segment(session_id)}/messages?after={after}")

    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> JsonRow:
        try:
            response = await self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise HostUnreachable(self.url) from error
        return _read(response, self.url)


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


def _segment(text: str) -> str:
    return quote(text, safe="")
