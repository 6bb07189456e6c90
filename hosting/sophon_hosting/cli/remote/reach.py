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
from sophon_hosting.cli.remote.over_http import OverHttp, Row, answers
from sophon_hosting.cli.remote.over_store import OverStore
from sophon_hosting.cli.screen import note
from sophon_hosting.cli.start import settings_of

TOKEN = "SOPHON_TOKEN"  # noqa: S105 - the name of a variable


class Reach(Protocol):
    """Operations on a host that the commands use. Rows are JSON objects of the HTTP API (docs/api.md).

    Every method raises SophonError.
    """

    def tasks(self, *, status: str | None = None, session: str | None = None, limit: int = 50) -> Sequence[Row]:
        """Return tasks, newest first."""
        ...

    def task(self, task_id: str) -> Row:
        """Return one task."""
        ...

    def events(self, task_id: str) -> Sequence[Row]:
        """Return the durable events of a task, in order."""
        ...

    def cancel(self, task_id: str) -> str:
        """Cancel a task and return its status."""
        ...

    def approvals(self, *, open_only: bool = True) -> Sequence[Row]:
        """Return approvals, oldest first."""
        ...

    def decide(self, approval_id: str, decision: Decision) -> Row:
        """Decide an approval and return it."""
        ...

    def queue(self) -> Row:
        """Return the status of the queue."""
        ...

    def dead(self) -> Sequence[Row]:
        """Return the dead letters."""
        ...

    def retry(self, task_id: str) -> None:
        """Queue a dead letter again as a new task."""
        ...

    def switch(self, what: str) -> Row:
        """`pause`, `resume` or `drain` the queue, and return its status."""
        ...


def reach(options: GlobalOptions, url: str | None = None) -> Reach:
    """Return a client of the host at `url`, by default of the configured host, or of its store if no host runs there.

    Raises SophonError if no host runs at a given `url`.
    """
    settings = settings_of(options)
    token = token_of(settings)
    if url is not None:
        return OverHttp(checked(url), token)
    address = address_of(settings)
    if answers(address):
        return OverHttp(address, token)
    note(f"no host runs at {address}; using the store")
    return OverStore(options, settings)


def usual_session(url: str, token: str | None, name: str) -> str:
    """Return the default session id of the user at a host.

    All users share one namespace of session ids, so every user except the local one gets `{name}-{user}`. Raises
    SophonError if no host runs at `url` or it refuses the token.
    """
    user = OverHttp(checked(url), token).user
    return name if user == LOCAL_USER else f"{name}-{user}"


def checked(url: str) -> str:
    """Validate the URL of a host and return it unchanged. Raises InputError if it is not http(s) or has a path."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"{url!r} is not the URL of a host; write it as http://127.0.0.1:8080")
    if parts.path.strip("/"):
        raise InputError(f"{url!r} has a path; write the URL of a host without one, as http://127.0.0.1:8080")
    return url


def address_of(settings: Settings) -> str:
    """Return the URL at which the configured host is reached from this machine."""
    host = settings.hub.host.strip("[]")
    host = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104 - compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.hub.port}"


def token_of(settings: Settings) -> str | None:
    """Return the value of SOPHON_TOKEN, else the token of the first operator whose token can be resolved, else None."""
    token = os.environ.get(TOKEN)
    if token:
        return token
    operators = (user for user in settings.hub.users if user.operator)
    tokens = (user.token.resolve(os.environ) for user in operators)
    return next((each for each in tokens if each), None)
