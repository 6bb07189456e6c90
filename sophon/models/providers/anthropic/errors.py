"""Errors of Anthropic's API: types in a stream to HTTP statuses, and errors whose status does not say what they are.

Source: Claude API docs, Errors.
"""

import re
from collections.abc import Mapping

from sophon.errors import ContextOverflow
from sophon.models.providers.provider_http_error import (
    ProviderHttpError,
    http_error_from_payload,
    http_error_from_response,
)
from sophon.models.providers.third_party_json import as_mapping, as_text

STATUS_BY_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}

SPENT = 402
"""Status of an account that has nothing left: its key pauses, and the next one is used."""

_CONTEXT_LIMIT = re.compile(r"input length and `?max_tokens`? exceed", re.IGNORECASE)
_SPENT = re.compile(r"credit balance is too low|reached your specified API usage limits", re.IGNORECASE)


def error_from_response(status: int, headers: Mapping[str, str], body: bytes) -> Exception:
    """Return the error of an HTTP error response."""
    return _refine(http_error_from_response(status, headers, body))


def error_from_event(error: object) -> Exception:
    """Return the error of an `error` event, or of an error object in a 200 response."""
    failure = http_error_from_payload(error)
    status = STATUS_BY_TYPE.get(as_text(as_mapping(error).get("type")))
    if status is not None:
        failure = ProviderHttpError(status, str(failure).removeprefix(f"HTTP {failure.status_code}: "))
    return _refine(failure)


def _refine(error: ProviderHttpError) -> Exception:
    """Return the error with the status of an empty account, or as a ContextOverflow; both are sent as a plain 400."""
    if error.status_code != STATUS_BY_TYPE["invalid_request_error"]:
        return error
    if _CONTEXT_LIMIT.search(str(error)):
        return ContextOverflow(str(error), status=error.status_code)
    if _SPENT.search(str(error)):
        error.status_code = SPENT
    return error
