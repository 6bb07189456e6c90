"""Selection of the host client for a command: a running host over HTTP, or else the configured store."""

import os
from urllib.parse import urlsplit

from sophon.errors import InputError
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.remote.host_client import HostClient
from sophon_hosting.cli.remote.http_host_client import HttpHostClient, is_host_running
from sophon_hosting.cli.remote.store_host_client import StoreHostClient
from sophon_hosting.client_api.authentication import LOCAL_USER

TOKEN_VARIABLE = "SOPHON_TOKEN"  # noqa: S105 - the name of a variable


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
    return StoreHostClient(options, settings, f"no host runs at {address}; using the store")


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
