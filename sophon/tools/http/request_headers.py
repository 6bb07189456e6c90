"""Request headers from a model: validation, the deny list, and filtering on redirects."""

import re
from collections.abc import Mapping

from sophon.errors import ToolError

DENIED_HEADERS = frozenset(
    {
        # credentials: only the operator may set them
        "authorization",
        "cookie",
        "cookie2",
        # routing and framing: set by the client itself
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        # claimed source or destination of the request
        "client-ip",
        "forwarded",
        "true-client-ip",
        "via",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-host",
        "x-http-method-override",
        "x-original-host",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
        # required by cloud metadata services
        "metadata",
        "metadata-flavor",
        "x-google-metadata-request",
    }
)
DENIED_HEADER_PREFIXES = ("proxy-", "sec-", "x-forwarded-", "x-aws-ec2-metadata-")
CROSS_ORIGIN_HEADERS = frozenset(
    {"accept", "accept-language", "cache-control", "content-language", "content-type", "range", "user-agent"}
)
"""The only headers that a redirect sends to another origin: any other header may contain a key."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def validate_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return `headers` with lower-case names; raises ToolError that names the first header that is not allowed."""
    return {name.lower(): _check_header(name, value) for name, value in headers.items()}


def keep_cross_origin_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that may be sent after a redirect to another scheme, host or port."""
    return {name: value for name, value in headers.items() if name in CROSS_ORIGIN_HEADERS}


def drop_body_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without those of the body, for a redirect that drops the body."""
    return {name: value for name, value in headers.items() if not name.startswith("content-")}


def _check_header(name: str, value: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ToolError(f"{name!r} is not a header name")
    # Many servers treat an underscore as a dash.
    plain = name.lower().replace("_", "-")
    if plain in DENIED_HEADERS or plain.startswith(DENIED_HEADER_PREFIXES):
        raise ToolError(f"the header {name!r} must not be set; remove it")
    if _VALUE.fullmatch(value) is None:
        raise ToolError(f"the value of the header {name!r} has characters other than printable ASCII")
    return value
