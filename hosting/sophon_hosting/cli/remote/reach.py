"""Selection of the host client for a command: a running host over HTTP, or else the configured store."""

import os
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import urlsplit

from sophon.approvals import Decision
from sophon.errors import InputError
from sophon.settings import Settings
from sophon_hosting.access import LOCAL_USER
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.remote.over_http import HttpHostClient, JsonRow, is_host_running
from sophon_hosting.cli.remote.over_store import StoreHostClient
from sophon_hosting.cli.screen import write_notice
from sophon_hosting.cli.start import load_cli_settings

TOKEN_VARIABLE = "SOPHON_TOKEN"  # noqa: S105 - the name of a variable


class HostClient(Protocol):
    """Operations on a host that the commands use. Rows are JSON objects of the HTTP API (docs/api.md).

    Every method raises SophonError.
    """

    def list_tasks(self, *, status: str | None = None, session_id: str | None = None, limit: int = 50) -> Sequence[JsonRow]:
        """Return tasks, newest first."""
        ...

    def get_task(self, task_id: str) -> JsonRow:
        """Return one task."""
        ...

    def list_task_events(self, task_id: str) -> Sequence[JsonRow]:
        """Return the durable events of a task, in order."""
        ...

    def cancel_task(self, task_id: str) -> str:
        """Cancel a task and return its status."""
        ...

    def list_approvals(self, *, open_only: bool = True) -> Sequence[JsonRow]:
        """Return approvals, oldest first."""
        ...

    def decide_approval(self, approval_id: str, decision: Decision) -> JsonRow:
        """Decide an approval and return it."""
        ...

    def queue_status(self) -> JsonRow:
        """Return the status of the queue."""
        ...

    def list_dead_letters(self) -> Sequence[JsonRow]:
        """Return the dead letters."""
        ...

    def retry_dead_letter(self, task_id: str) -> None:
        """Queue a dead letter again as a new task."""
        ...

    def control_queue(self, action: str) -> JsonRow:
        """`pause`, `resume` or `drain` the queue, and return its status."""
        ...


def open_host_client(options: GlobalOptions, url: str | None = None) -> HostClient:
    """Return a client of the host at `url`, by default of the configured host, or of its store if no host runs there.

    Raises SophonError if no host runs at a given `url`.
    """
    settings = load_cli_settings(options)
    token = find_access_token(settings)
    if url is not None:
        return HttpHostClient(validate_host_url(url), token)
    address = local_host_url(settings)
    if is_host_running(address):
        return HttpHostClient(address, token)
    write_notice(f"no host runs at {address}; using the store")
    return StoreHostClient(options, settings)


def default_session_id(url: str, token: str | None, session_id: str) -> str:
    """Return the default session id of the user at a host.

    All users share one namespace of session ids, so every user except the local one gets `{session_id}-{user}`. Raises
    SophonError if no host runs at `url` or it refuses the token.
    """
    user = HttpHostClient(validate_host_url(url), token).user
    return session_id if user == LOCAL_USER else f"{session_id}-{user}"


def validate_host_url(url: str) -> str:
    """Validate the URL of a host and return it unchanged. Raises InputError if it is not http(s) or has a path."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"{url!r} is not the URL of a host; write it as http://127.0.0.1:8080")
    if parts.path.strip("/"):
        raise InputError(f"{url!r} has a path; write the URL of a host without one, as http://127.0.0.1:8080")
    return url


def local_host_url(settings: Settings) -> str:
    """Return the URL at which the configured host is reached from this machine."""
    host = settings.hub.host.strip("[]")
    host = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104 - compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.hub.port}"


def find_access_token(settings: Settings) -> str | None:
    """Return the value of SOPHON_TOKEN, else the token of the first operator whose token can be resolved, else None."""
    token = os.environ.get(TOKEN_VARIABLE)
    if token:
        return token
    operators = (user for user in settings.hub.users if user.operator)
    tokens = (user.token.resolve(os.environ) for user in operators)
    return next((each for each in tokens if each), None)
