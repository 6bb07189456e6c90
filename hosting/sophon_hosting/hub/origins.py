"""Which web pages may connect: those of the host itself, and those of `Hub.AllowedOrigins`."""

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

ANYONE = "*"
_PORTS = {"http": 80, "https": 443}


def may_connect(origin: str | None, environ: Mapping[str, object], allowed: Collection[str]) -> bool:
    """Whether a request with this Origin header is taken; one without comes from no web page.

    A page is the host's own if its host and port are those the request was sent to, as the Host header says or a proxy
    in front (X-Forwarded-Host): a page can set neither. The scheme is left out: a proxy may end TLS and not say so.
    """
    if not origin:
        return True
    if ANYONE in allowed or origin.rstrip("/").lower() in {each.rstrip("/").lower() for each in allowed}:
        return True
    asked = environ.get("HTTP_X_FORWARDED_HOST") or environ.get("HTTP_HOST")
    scheme, _, rest = origin.partition("://")
    return scheme in _PORTS and isinstance(asked, str) and _place(scheme, rest) == _place(scheme, asked.split(",")[0])


def _place(scheme: str, netloc: str) -> tuple[str | None, int | None]:
    try:
        parts = urlsplit(f"//{netloc.strip()}")
        return parts.hostname, parts.port or _PORTS[scheme]
    except ValueError:
        return None, None
