"""A running host, over its HTTP API."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

import httpx

from sophon.approvals import Decision
from sophon.errors import SophonError

PROBE_SECONDS = 2.0
TIMEOUT_SECONDS = 60.0
Row = Mapping[str, Any]


class Refused(SophonError):
    """The host answered with an error, or not at all."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def answers(url: str) -> bool:
    """Whether a host of ours is there."""
    try:
        found = httpx.get(f"{url}/healthz", timeout=PROBE_SECONDS, trust_env=False)
        return bool(found.status_code == 200 and found.json().get("status") == "ok")
    except (httpx.HTTPError, ValueError, AttributeError):
        return False


class OverHttp:
    """See `Reach`. An operator's token shows everything, another only what is its own."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url, self._headers = url.rstrip("/"), {"Authorization": f"Bearer {token}"} if token else {}
        me = self._ask("GET", "/api/me")
        self.user = str(me["user"])
        self._everything = {"everything": "true"} if me["operator"] else {}

    def tasks(self, *, status: str | None = None, session: str | None = None, limit: int = 50) -> Sequence[Row]:
        """The newest first."""
        wanted = {"status": status, "session_id": session, "limit": str(limit)}
        query = {name: value for name, value in wanted.items() if value is not None}
        return self._items("/api/tasks", query | self._everything)

    def task(self, task_id: str) -> Row:
        """One task."""
        return self._ask("GET", f"/api/tasks/{_part(task_id)}")

    def events(self, task_id: str) -> Sequence[Row]:
        """What happened in it."""
        return self._items(f"/api/tasks/{_part(task_id)}/events", {})

    def cancel(self, task_id: str) -> str:
        """Stop it, and give its status."""
        return str(self._ask("POST", f"/api/tasks/{_part(task_id)}/cancel")["status"])

    def approvals(self, *, open_only: bool = True) -> Sequence[Row]:
        """The oldest first."""
        return self._items("/api/approvals", {"open_only": str(open_only).lower()} | self._everything)

    def decide(self, approval_id: str, decision: Decision) -> Row:
        """Decide, and give the question with its answer."""
        body: dict[str, Any] = {"decision": decision.verdict, "reason": decision.reason}
        if decision.verdict == "edit":
            body["arguments"] = dict(decision.arguments)
        return self._ask("POST", f"/api/approvals/{_part(approval_id)}", body)

    def queue(self) -> Row:
        """The queue at this moment."""
        return self._ask("GET", "/api/queue")

    def dead(self) -> Sequence[Row]:
        """What was given up."""
        return self._items("/api/queue/dead", {})

    def retry(self, task_id: str) -> None:
        """Let a dead letter in again."""
        self._ask("POST", f"/api/queue/dead/{_part(task_id)}/retry")

    def switch(self, what: str) -> Row:
        """`pause`, `resume` or `drain`."""
        return self._ask("POST", f"/api/queue/{what}")

    def _items(self, path: str, query: Mapping[str, str]) -> Sequence[Row]:
        return cast(Sequence[Row], self._ask("GET", path, query=query)["items"])

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, query: Mapping[str, str] | None = None
    ) -> Row:
        try:
            found = httpx.request(
                method,
                self._url + path,
                json=body,
                params=query,
                headers=self._headers,
                timeout=TIMEOUT_SECONDS,
                trust_env=False,
            )
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise Refused("no_host", f"no host answers at {self._url}: {reason}") from error
        try:
            data: Any = found.json()
            if found.is_success:
                return cast(Row, data)
            raise Refused(data["error"]["code"], data["error"]["message"])
        except (ValueError, KeyError, TypeError) as error:
            raise Refused("no_host", f"what answers at {self._url} is no Sophon host") from error


def _part(given: str) -> str:
    return quote(given, safe="")
