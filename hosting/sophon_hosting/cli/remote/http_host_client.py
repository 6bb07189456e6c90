"""HTTP client of a running host."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

import httpx

from sophon_hosting.cli.remote.host_client import HostError, JsonRow

PROBE_SECONDS = 2.0
TIMEOUT_SECONDS = 60.0

REPLAY_TIMEOUT_SECONDS = 660.0
"""A host gives a replay ten minutes."""


def probe_host(url: str) -> str | None:
    """Return the instance id of the Sophon host that answers at `url`, None if there is none; sends no token.

    Waits at most `PROBE_SECONDS`. The id is empty for a host that states none.
    """
    try:
        response = httpx.get(f"{url}/healthz", timeout=PROBE_SECONDS, trust_env=False)
        answer = response.json()
        if response.status_code != 200 or answer.get("status") != "ok":
            return None
        return str(answer.get("instance", ""))
    except (httpx.HTTPError, ValueError, AttributeError):
        return None


class HttpHostClient:
    """What the commands ask of a host, over HTTP. An operator's token shows the data of all users, another's its own.

    The constructor requests `/api/me`.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self._url, self._headers = url.rstrip("/"), {"Authorization": f"Bearer {token}"} if token else {}
        me = self._request("GET", "/api/me")
        self.user = str(me["user"])
        self._everything = {"everything": "true"} if me["operator"] else {}

    def get_task(self, task_id: str) -> JsonRow:
        """Return one task."""
        return self._request("GET", f"/api/tasks/{_path_segment(task_id)}")

    def list_task_events(self, task_id: str) -> Sequence[JsonRow]:
        """Return the stored events of a task and its traces, in order."""
        return self._get_items(f"/api/tasks/{_path_segment(task_id)}/events", {})

    def list_traces(self, *, session_id: str | None = None, limit: int = 50) -> Sequence[JsonRow]:
        """Return the traces of turns without their parts, newest first."""
        query = {"limit": str(limit)} | ({} if session_id is None else {"session_id": session_id})
        return self._get_items("/api/traces", query | self._everything)

    def find_trace(self, task_id: str) -> JsonRow | None:
        """Return the trace of a task; None if it has none."""
        try:
            return self._request("GET", f"/api/traces/{_path_segment(task_id)}")
        except HostError as error:
            if error.code != "not_found":
                raise
            return None

    def export_trace(self, task_id: str) -> JsonRow:
        """Return the trace of a task as JSON of OTLP."""
        return self._request("GET", f"/api/traces/{_path_segment(task_id)}", query={"format": "otlp"})

    def replay_turn(self, task_id: str, *, chain: str | None = None, model: str | None = None) -> JsonRow:
        """Replay a turn of the user's own without effects, and return both side by side."""
        body = {name: value for name, value in (("chain", chain), ("model", model)) if value is not None}
        path = f"/api/traces/{_path_segment(task_id)}/replay"
        return self._request("POST", path, body, timeout_seconds=REPLAY_TIMEOUT_SECONDS)

    def _get_items(self, path: str, query: Mapping[str, str]) -> Sequence[JsonRow]:
        return cast(Sequence[JsonRow], self._request("GET", path, query=query)["items"])

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> JsonRow:
        try:
            response = httpx.request(
                method,
                self._url + path,
                json=body,
                params=query,
                headers=self._headers,
                timeout=timeout_seconds,
                trust_env=False,
            )
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise HostError("no_host", f"no host answers at {self._url}: {reason}") from error
        try:
            data: Any = response.json()
            if response.is_success:
                return cast(JsonRow, data)
            raise HostError(data["error"]["code"], data["error"]["message"])
        except (ValueError, KeyError, TypeError) as error:
            raise HostError("no_host", f"the server at {self._url} is not a Sophon host") from error


def _path_segment(text: str) -> str:
    return quote(text, safe="")
