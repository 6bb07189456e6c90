"""What the verbs need of a host, and the choice between a host that runs and the store it left."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

from sophon.approvals import Decision
from sophon.errors import InputError
from sophon.settings import Settings
from sophon_hosting.access import LOCAL_USER
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.remote.over_http import OverHttp, answers
from sophon_hosting.cli.remote.over_store import OverStore
from sophon_hosting.cli.screen import note
from sophon_hosting.cli.start import settings_of

TOKEN = "SOPHON_TOKEN"  # noqa: S105 - the name of a variable
Row = Mapping[str, Any]


class Reach(Protocol):
    """Rows are those of the HTTP API, docs/api.md. Everything raises SophonError."""

    def tasks(self, *, status: str | None = None, session: str | None = None, limit: int = 50) -> Sequence[Row]: ...
    def task(self, task_id: str) -> Row: ...
    def events(self, task_id: str) -> Sequence[Row]: ...
    def cancel(self, task_id: str) -> str: ...
    def approvals(self, *, open_only: bool = True) -> Sequence[Row]: ...
    def decide(self, approval_id: str, decision: Decision) -> Row: ...
    def queue(self) -> Row: ...
    def dead(self) -> Sequence[Row]: ...
    def retry(self, task_id: str) -> None: ...
    def switch(self, what: str) -> Row: ...


def reach(options: GlobalOptions, url: str | None = None) -> Reach:
    """The host at `url`; without one that of the settings, and if none runs there, its store.

    Raises SophonError for a url where no host is.
    """
    settings = settings_of(options)
    token = token_of(settings)
    if url is not None:
        return OverHttp(checked(url), token)
    here = address_of(settings)
    if answers(here):
        return OverHttp(here, token)
    note(f"no host runs at {here}; this is from the store")
    return OverStore(options, settings)


def usual_session(url: str, token: str | None, name: str) -> str:
    """The session of somebody who names none: ids are shared, so everybody but the local user has one of their own.

    Raises SophonError for a url where no host is, or one that does not let us in.
    """
    user = OverHttp(checked(url), token).user
    return name if user == LOCAL_USER else f"{name}-{user}"


def checked(url: str) -> str:
    """The address of a host, as somebody has written it. Raises InputError for what is none."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"{url!r} is no address of a host; it looks like http://127.0.0.1:8080")
    if parts.path.strip("/"):
        raise InputError(f"{url!r} has a path; a host is named by its address alone, http://127.0.0.1:8080")
    return url


def address_of(settings: Settings) -> str:
    """Where a host of these settings is reached from this machine."""
    host = settings.hub.host.strip("[]")
    host = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104 - compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.hub.port}"


def token_of(settings: Settings) -> str | None:
    """SOPHON_TOKEN, else the token of the first operator, as far as this environment has it."""
    given = os.environ.get(TOKEN)
    if given:
        return given
    operators = (user for user in settings.hub.users if user.operator)
    found = (user.token.resolve(os.environ) for user in operators)
    return next((token for token in found if token), None)
