"""Check of the Origin header: the host's own pages and those of `Hub.AllowedOrigins` may connect."""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from aiohttp import hdrs
from multidict import CIMultiDictProxy

ANY_ORIGIN = "*"
"""Entry of `Hub.AllowedOrigins` that allows every origin."""

REFUSED_ORIGIN_MESSAGE = "this origin is not allowed; see Hub.AllowedOrigins"
"""Error message for a refused origin."""

_PORTS = {"http": 80, "https": 443}


def are_allowed_origins(headers: CIMultiDictProxy[str], allowed: Collection[str]) -> bool:
    """Return whether a request with these headers is allowed; one with several Origin lines is not: browsers send one,
    and readers of the headers differ in which of them they take.
    """
    origins = headers.getall(hdrs.ORIGIN, ())
    environ = {"HTTP_HOST": headers.get(hdrs.HOST), "HTTP_X_FORWARDED_HOST": headers.get(hdrs.X_FORWARDED_HOST)}
    return len(origins) < 2 and all(is_allowed_origin(each, environ, allowed) for each in origins)


def is_allowed_origin(origin: str | None, environ: Mapping[str, object], allowed: Collection[str]) -> bool:
    """Return whether a request with this Origin header is allowed; one without the header comes from no web page.

    An origin is the host's own if its host and port equal those of the Host header, or of X-Forwarded-Host if a proxy
    sets it: a page can set neither. The scheme is ignored, because a proxy may terminate TLS without declaring it.
    """
    if not origin:
        return origin is None
    if ANY_ORIGIN in allowed or origin.rstrip("/").lower() in {each.rstrip("/").lower() for each in allowed}:
        return True
    host = environ.get("HTTP_X_FORWARDED_HOST") or environ.get("HTTP_HOST")
    scheme, _, netloc = origin.partition("://")
    if scheme not in _PORTS or not isinstance(host, str):
        return False
    return _host_and_port(scheme, netloc) == _host_and_port(scheme, host.split(",")[0])


def _host_and_port(scheme: str, netloc: str) -> tuple[str | None, int | None]:
    try:
        parts = urlsplit(f"//{netloc.strip()}")
        return parts.hostname, parts.port or _PORTS[scheme]
    except ValueError:
        return None, None
