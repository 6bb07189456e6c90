"""Endpoint of a provider: the URL of its requests, and what its URL says beside it."""

from dataclasses import field
from urllib.parse import urlsplit, urlunsplit

from sophon._python.lazy_dataclass import dataclass
from sophon.models.providers.http.proxy_environment import basic_authorization
from sophon.security import hide_url_secrets


@dataclass(frozen=True, slots=True)
class Endpoint:
    """URL that an adapter sends its requests to; create it once per adapter with `endpoint_from_url`."""

    url: str = field(repr=False)
    """Without user and password."""
    shown_url: str
    """For errors: without secrets."""
    authorization: str | None = field(default=None, repr=False)
    """Header from the user and password in the URL; it takes precedence over a key."""


def endpoint_from_url(url: str) -> Endpoint:
    """Return the endpoint of a URL, which may contain user and password; the fragment is dropped."""
    parts = urlsplit(url)
    netloc = parts.netloc.rpartition("@")[2]
    bare = urlunsplit((parts.scheme, netloc, parts.path, parts.query, ""))
    authorization = basic_authorization(parts.username, parts.password or "") if parts.username is not None else None
    return Endpoint(bare, hide_url_secrets(url), authorization)


def extend_path(base_url: str, path: str) -> str:
    """Return a base URL with its path extended; its query, such as a version, stays."""
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, f"{parts.path.rstrip('/')}{path}", parts.query, ""))
