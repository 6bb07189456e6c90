"""Request headers from a model: validation, the deny list, and filtering on redirects."""

import re
from collections.abc import Mapping

from sophon.errors import ToolError
from sophon.security.http_headers import is_header_name, is_reserved_header, normalize_header_name

CREDENTIAL_HEADERS = frozenset(
    {
        "authorization",
        "cookie",
        "cookie2",
        "api-key",
        "apikey",
        "authentication",
        "dd-api-key",
        "dd-application-key",
        "ocp-apim-subscription-key",
        "private-token",
        "set-cookie",
        "set-cookie2",
        "token",
        "x-access-token",
        "x-amz-security-token",
        "x-api-key",
        "x-api-token",
        "x-apikey",
        "x-auth",
        "x-auth-key",
        "x-auth-token",
        "x-authorization",
        "x-functions-key",
        "x-gitlab-token",
        "x-goog-api-key",
        "x-rapidapi-key",
        "x-session-token",
        "x-subscription-token",
        "x-vault-token",
    }
)
"""Headers that hold credentials: only the operator may set them, by the setting Vault."""
CROSS_ORIGIN_HEADERS = frozenset(
    {"accept", "accept-language", "cache-control", "content-language", "content-type", "range", "user-agent"}
)
"""The only headers that a redirect sends to another origin: any other header may contain a key."""

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
    if not is_header_name(name):
        raise ToolError(f"{name!r} is not a header name")
    if normalize_header_name(name) in CREDENTIAL_HEADERS or is_reserved_header(name):
        raise ToolError(f"the header {name!r} must not be set; remove it")
    if _VALUE.fullmatch(value) is None:
        raise ToolError(f"the value of the header {name!r} has characters other than printable ASCII")
    return value
