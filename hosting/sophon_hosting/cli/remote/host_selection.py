"""Selection of the client of a command: a running host over HTTP, or else the configured store."""

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from sophon.errors import InputError
from sophon.principals import LOCAL_USER
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.console.output import write_notice
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.remote.host_probe import probe_host
from sophon_hosting.cli.remote.store_send import StoreSend
from sophon_hosting.instance_id import compute_instance_id
from sophon_hosting.operations.client import Client, HostError, HttpSend
from sophon_hosting.operations.current_user import get_current_user
from sophon_hosting.settings.hub import HubSettings

TOKEN_VARIABLE = "SOPHON_TOKEN"  # noqa: S105 - the name of a variable
DEFAULT_PORTS = {"http": 80, "https": 443}


def open_client(options: GlobalOptions, url: str | None = None) -> Client:
    """Return a client of the host at `url`, by default of the configured host, or of its store if no host runs there.

    Raises SophonError if no host runs at a given `url`, and if that of the configured address uses another store: it
    belongs to another project, whose port is the same.
    """
    settings = load_cli_settings(options)
    if (client := find_client(options, url)) is not None:
        return client
    return open_store_client(options, f"no host runs at {local_host_url(settings)}; using the store")


def open_client_silently(options: GlobalOptions) -> Client:
    """Return a client of the running host, whose other clients hear of a change; else of the store, without a word."""
    return find_client(options) or open_store_client(options)


def open_store_client(options: GlobalOptions, notice: str = "") -> Client:
    """Return a client of the configured store, which a host may use at the same time; see `StoreSend` for `notice`."""
    return Client(StoreSend(options, load_cli_settings(options), notice), LOCAL_USER, is_operator=True)


def connect_client(url: str, token: str | None) -> Client:
    """Return a client of the host at `url`. Raises HostError if none answers, or if it refuses the token."""
    send = HttpSend(url, token)
    me = Client(send, "", is_operator=False).call(get_current_user)
    return Client(send, me["user"], is_operator=me["operator"])


def find_running_host(options: GlobalOptions, settings: Settings, url: str | None = None) -> str:
    """Return the URL of a running host: `url`, by default that of the settings.

    Raises HostError if none answers, InputError for another project's host at the address of the settings.
    """
    address = local_host_url(settings) if url is None else validate_host_url(url)
    instance = probe_host(address)
    if instance is None:
        raise HostError("no_host", f"no host runs at {address}; start it with `sophon serve`, or give --url")
    if url is None:
        _check_instance(options, settings, address, instance)
    return address


def find_client(options: GlobalOptions, url: str | None = None) -> Client | None:
    """Return a client of the host at `url`, by default of the configured host; None if that does not run.

    Raises SophonError as `open_client` does.
    """
    settings = load_cli_settings(options)
    if url is not None:
        return connect_client(validate_host_url(url), find_access_token(settings, url))
    address = local_host_url(settings)
    instance = probe_host(address)
    if instance is None:
        return None
    _check_instance(options, settings, address, instance)
    return connect_client(address, find_access_token(settings, address))


def default_session_id(url: str, token: str | None, session_id: str) -> str:
    """Return the default session id of the user at a host.

    All users share one namespace of session ids, so every user except the local one gets `{session_id}-{user}`. Raises
    SophonError if no host runs at `url` or it refuses the token.
    """
    user = connect_client(validate_host_url(url), token).user
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
    host = settings.section(HubSettings).host.strip("[]")
    host = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104 - compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.section(HubSettings).port}"


def find_access_token(settings: Settings, url: str) -> str | None:
    """Return the token for the host at `url`, None without one: the value of SOPHON_TOKEN, which goes anywhere, else
    that of the first operator of the settings, which goes only to the host of the settings; a notice says so.
    """
    token = os.environ.get(TOKEN_VARIABLE)
    if token:
        return token
    configured = _find_configured_token(settings, os.environ)
    if configured is None or is_configured_address(settings, url):
        return configured
    write_notice(
        f"no token is sent to {url}: those of the settings are for {local_host_url(settings)}; set {TOKEN_VARIABLE}"
    )
    return None


def is_configured_address(settings: Settings, url: str) -> bool:
    """Return whether a URL has the host and the port of the settings; the names of this machine are one host."""
    given, own = urlsplit(url), urlsplit(local_host_url(settings))
    try:
        port = given.port or DEFAULT_PORTS.get(given.scheme)
    except ValueError:
        return False
    names = [(each.hostname or "").rstrip(".") for each in (given, own)]
    return port == own.port and (names[0] == names[1] or all(is_loopback_name(each) for each in names))


def is_loopback_name(name: str) -> bool:
    """Return whether a host name or an address is that of this machine."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _find_configured_token(settings: Settings, environment: Mapping[str, str]) -> str | None:
    operators = (user for user in settings.section(HubSettings).users if user.operator)
    tokens = (user.token.resolve(environment) for user in operators)
    return next((each for each in tokens if each), None)


def _check_instance(options: GlobalOptions, settings: Settings, address: str, instance: str) -> None:
    url = settings.store.url.resolve(os.environ)
    if not instance or url is None or instance == compute_instance_id(url, options.settings_folder):
        return
    raise InputError(
        f"the host at {address} uses another store than these settings ({settings.store.url}), so it is another "
        f"project's: set Hub.Port to a port of your own, or give --url {address} to use that host"
    )
