"""Fetch metadata: which requests that other sites cause in a browser are served.

Source: W3C Fetch Metadata Request Headers. A browser sends `Sec-Fetch-Site` with every request to this machine or over
TLS, also for `<img>` and `<script>`, which carry no `Origin`; a page cannot set it.
"""

from collections.abc import Collection, Mapping

from aiohttp import hdrs

from sophon_hosting.client_api.allowed_origins import is_allowed_origin

FOREIGN_SITES = frozenset({"cross-site", "same-site"})
"""Values of `Sec-Fetch-Site` for requests of pages of another origin."""

NAVIGATION_EXCLUDED_PATHS = ("/api/", "/v1/", "/socket.io/")
"""Path prefixes that no link of another page leads to."""


def is_refused_fetch(method: str, path: str, headers: Mapping[str, str], allowed_origins: Collection[str]) -> bool:
    """Return whether a request was caused by a page of another origin that may not cause it.

    Allowed are: a link (top-level navigation) to a page, an origin of `allowed_origins` that the browser names, and
    every request without the header, which comes from no browser or an old one.
    """
    if headers.get("Sec-Fetch-Site", "").lower() not in FOREIGN_SITES:
        return False
    origin = headers.get(hdrs.ORIGIN)
    if origin and is_allowed_origin(origin, {"HTTP_HOST": headers.get(hdrs.HOST, "")}, allowed_origins):
        return False
    is_navigation = (
        method in ("GET", "HEAD")
        and headers.get("Sec-Fetch-Mode", "").lower() == "navigate"
        and headers.get("Sec-Fetch-Dest", "").lower() == "document"
    )
    return not (is_navigation and not path.startswith(NAVIGATION_EXCLUDED_PATHS))
