"""Which request headers a model may set, and which of them travel to another origin."""

import re
from collections.abc import Mapping

from sophon.errors import ToolError

DENIED = frozenset(
    {
        # credentials: they come from the operator, never from a model
        "authorization",
        "cookie",
        "cookie2",
        # routing and framing: they belong to the client that connects
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
        # where the request claims to come from, or to be going
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
        # the keys of cloud metadata services
        "metadata",
        "metadata-flavor",
        "x-google-metadata-request",
    }
)
DENIED_PREFIXES = ("proxy-", "sec-", "x-forwarded-", "x-aws-ec2-metadata-")
TRAVELLING = frozenset(
    {"accept", "accept-language", "cache-control", "content-language", "content-type", "range", "user-agent"}
)
"""All that a redirect may carry to another origin: a key can stand under any other name."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def accepted(headers: Mapping[str, str]) -> dict[str, str]:
    """`headers` with lower-case names; raises ToolError that names the first one which may not be sent."""
    return {name.lower(): _checked(name, value) for name, value in headers.items()}


def for_another_origin(headers: Mapping[str, str]) -> dict[str, str]:
    """What is left of `headers` when a redirect leads to another scheme, host or port."""
    return {name: value for name, value in headers.items() if name in TRAVELLING}


def without_body(headers: Mapping[str, str]) -> dict[str, str]:
    """What is left of `headers` when a redirect turns the request into one without a body."""
    return {name: value for name, value in headers.items() if not name.startswith("content-")}


def _checked(name: str, value: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ToolError(f"{name!r} is no header name")
    # Many servers read an underscore as a dash.
    plain = name.lower().replace("_", "-")
    if plain in DENIED or plain.startswith(DENIED_PREFIXES):
        raise ToolError(f"the header {name!r} may not be set here; leave it out")
    if _VALUE.fullmatch(value) is None:
        raise ToolError(f"the value of the header {name!r} has characters other than printable ASCII")
    return value
