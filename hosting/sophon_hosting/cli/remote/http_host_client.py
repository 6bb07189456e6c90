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

    def list_schedules(self) -> Sequence[JsonRow]:
        """Return the schedules, oldest first; an operator's list has those of all users."""
        return self._get_items("/api/schedules", self._everything)

    def get_schedule(self, schedule_id: str) -> JsonRow:
        """Return one schedule with its last firings."""
        return self._request("GET", f"/api/schedules/{_path_segment(schedule_id)}")

    def add_schedule(self, body: Mapping[str, Any]) -> JsonRow:
        """Make a schedule of the user and return it."""
        return self._request("POST", "/api/schedules", dict(body))

    def change_schedule(self, schedule_id: str, body: Mapping[str, Any]) -> JsonRow:
        """Change, pause or resume a schedule and return it."""
        return self._request("PATCH", f"/api/schedules/{_path_segment(schedule_id)}", dict(body))

    def remove_schedule(self, schedule_id: str) -> None:
        """Delete a schedule."""
        self._request("DELETE", f"/api/schedules/{_path_segment(schedule_id)}")

    def queue_status(self) -> JsonRow:
        """Return the status of the queue."""
        return self._request("GET", "/api/queue")

    def list_dead_letters(self) -> Sequence[JsonRow]:
        """Return the dead letters."""
        return self._get_items("/api/queue/dead", {})

    def retry_dead_letter(self, task_id: str) -> None:
        """Queue a dead letter again as a new task."""
        self._request("POST", f"/api/queue/dead/{_path_segment(task_id)}/retry")

    def attach_channel(self, name: str) -> bool:
        """Start a detached channel at once; return False if it does not wait for that in the process that answers."""
        return bool(self._request("POST", f"/api/channels/{_path_segment(name)}/attach")["attached"])

    def wake_outbox(self) -> None:
        """Have the host send at once what another process has stored in the outbox."""
        self._request("POST", "/api/outbox/wake")

    def control_queue(self, action: str) -> JsonRow:
        """`pause`, `resume` or `drain` the queue, and return its status."""
        return self._request("POST", f"/api/queue/{action}")

    def list_providers(self) -> Sequence[JsonRow]:
        """Return the providers, by priority."""
        return self._get_items("/api/providers", {})

    def reset_provider(self, provider_id: str) -> JsonRow:
        """End cool-downs of a provider, enable its rejected keys and close its circuit; return its state."""
        return self._request("POST", f"/api/providers/{_path_segment(provider_id)}/reset")

    def upload_file(self, name: str, content: bytes) -> JsonRow:
        """Store a file for a message, and return what the host knows of it."""
        query = {"name": name}
        answer = self._request("POST", "/api/attachments", query=query, content=content)
        return cast(JsonRow, answer["attachment"])

    def list_mcp_servers(self) -> Sequence[JsonRow]:
        """Return the MCP servers, with state, last error and tools."""
        return self._get_items("/api/mcp", {})

    def list_webhooks(self) -> Sequence[JsonRow]:
        """Return the webhooks."""
        return self._get_items("/api/webhooks", {})

    def test_webhook(self, webhook_id: str) -> str:
        """Send a test event to an outgoing webhook; return the id of its delivery."""
        return str(self._request("POST", f"/api/webhooks/{_path_segment(webhook_id)}/test", {})["entry_id"])

    def accept_mcp_tools(self, server: str, digests: Mapping[str, str]) -> JsonRow:
        """Accept definitions of tools, by name and digest, and return the server."""
        return self._request("POST", f"/api/mcp/{_path_segment(server)}/accept", {"tools": dict(digests)})

    def restart_mcp_server(self, server: str) -> JsonRow:
        """Connect to an MCP server again, and return it."""
        return self._request("POST", f"/api/mcp/{_path_segment(server)}/restart")

    def _get_items(self, path: str, query: Mapping[str, str]) -> Sequence[JsonRow]:
        return cast(Sequence[JsonRow], self._request("GET", path, query=query)["items"])

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        *,
        content: bytes | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> JsonRow:
        headers = self._headers if content is None else {**self._headers, "Content-Type": "application/octet-stream"}
        try:
            response = httpx.request(
                method,
                self._url + path,
                json=body,
                content=content,
                params=query,
                headers=headers,
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
