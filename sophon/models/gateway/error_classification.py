"""Error classification: convert any exception of a provider into one of Sophon's own errors.

The checks run in this order: errors of Sophon are returned unchanged; a text that mentions the context window; the
HTTP status (`status_code` or `status` on the error or its response); the type, compared by name so that no library has
to be imported (httpx, aiohttp, openai, litellm); the text. Anything else becomes a plain ModelError, which is never
retried.
"""

import re
from datetime import datetime
from typing import Any, cast

from sophon._python.lazy_pattern import lazy_pattern
from sophon.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    Overloaded,
    ProviderUnavailable,
    RateLimited,
    SophonError,
)
from sophon.models.gateway.retry_after import parse_retry_after, seconds_until_reset
from sophon.security import redact_and_cut

QUOTA_COOLDOWN_SECONDS = 3600.0
"""Cool-down after an exhausted quota (402, `insufficient_quota`) if the provider does not say when it is renewed."""

MAX_ERROR_TEXT = 2000
"""Characters of an error's text that are read and kept, because some providers send the request back."""


def classify_error(error: Exception, provider: str, model: str, *, now: datetime | None = None) -> SophonError:
    """Return the error as a ModelError whose cause is the original; Sophon's own errors are returned themselves.

    `now` is needed to convert a point in time (an HTTP date, a reset time) to seconds; without it such values are
    ignored. AssertionError is re-raised, because it is a test failure and not a provider error.
    """
    if isinstance(error, AssertionError):
        raise error
    if isinstance(error, SophonError):
        return _with_provider(error, provider, model)
    inner = _first_error(error)
    if isinstance(inner, AssertionError):
        raise inner
    if isinstance(inner, SophonError):
        return _with_provider(inner, provider, model)
    text, status = _error_text(inner), _http_status(inner)
    error_class = _error_class(inner, status, text)
    failure = error_class(
        f"{provider}/{model}: {text}",
        provider=provider,
        model=model,
        status=status,
        retry_after=_retry_after(inner, error_class, status, text, now),
    )
    failure.__cause__ = error
    return failure


def cut_error_text(text: str) -> str:
    """Return at most MAX_ERROR_TEXT characters, redacted before the cut: see `redact_and_cut`."""
    return redact_and_cut(text, MAX_ERROR_TEXT)


_CONTEXT_OVERFLOW = lazy_pattern(
    r"context[ _-]?(?:length|window|size)|maximum context|max(?:imum)? (?:input|prompt) (?:length|tokens)"
    r"|too many (?:input |prompt )?tokens|(?:prompt|input|request) is too (?:long|large)"
    r"|exceeds? the (?:token|context) limit|token limit exceeded|exceeds the maximum number of tokens"
    r"|reduce the length of",
    re.IGNORECASE,
)
_OVERLOADED = lazy_pattern(r"overload|over capacity|at capacity|server is busy|model is busy", re.IGNORECASE)
_RATE_LIMIT = lazy_pattern(r"rate[ _-]?limit|too many requests|throttl", re.IGNORECASE)
_QUOTA = lazy_pattern(r"insufficient[ _-]?(?:quota|credit|balance|funds)", re.IGNORECASE)

_CLASS_BY_STATUS: dict[int, type[ModelError]] = {
    401: AuthenticationFailed,
    402: RateLimited,
    403: AuthenticationFailed,
    408: ModelTimeout,
    413: ContextOverflow,
    429: RateLimited,
    504: ModelTimeout,
    529: Overloaded,
}
_CLASS_BY_NAME: dict[str, type[ModelError]] = {
    "ContextWindowExceededError": ContextOverflow,
    "TimeoutException": ModelTimeout,
    "APITimeoutError": ModelTimeout,
    "TransportError": ProviderUnavailable,
    "APIConnectionError": ProviderUnavailable,
    "ClientConnectionError": ProviderUnavailable,
    "ClientPayloadError": ProviderUnavailable,
}
_CLASS_BY_TYPE: tuple[tuple[type[Exception], type[ModelError]], ...] = (
    (TimeoutError, ModelTimeout),
    (OSError, ProviderUnavailable),
)


def _error_class(error: Exception, status: int | None, text: str) -> type[ModelError]:
    if status not in (401, 402, 403, 429) and _CONTEXT_OVERFLOW.search(text):
        return ContextOverflow
    if status is not None:
        return _class_by_status(status, text)
    return _class_by_type(error) or _class_by_text(text)


def _class_by_status(status: int, text: str) -> type[ModelError]:
    if status in _CLASS_BY_STATUS:
        return _CLASS_BY_STATUS[status]
    if status >= 500:
        return Overloaded if _OVERLOADED.search(text) else ProviderUnavailable
    return BadRequest if status >= 400 else _class_by_text(text)


def _class_by_type(error: Exception) -> type[ModelError] | None:
    for ancestor in type(error).__mro__:
        if ancestor.__name__ in _CLASS_BY_NAME:
            return _CLASS_BY_NAME[ancestor.__name__]
    return next((error_class for known, error_class in _CLASS_BY_TYPE if isinstance(error, known)), None)


def _class_by_text(text: str) -> type[ModelError]:
    if _OVERLOADED.search(text):
        return Overloaded
    return RateLimited if _RATE_LIMIT.search(text) else ModelError


def _retry_after(
    error: Exception, error_class: type[ModelError], status: int | None, text: str, now: datetime | None
) -> float | None:
    seconds = parse_retry_after(getattr(error, "retry_after", None), now)
    if seconds is None:
        seconds = parse_retry_after(_header(error, "retry-after"), now)
    if seconds is None and error_class in (RateLimited, Overloaded):
        seconds = seconds_until_reset(text, now)
    spent = status == 402 or (error_class is RateLimited and _QUOTA.search(text))
    return QUOTA_COOLDOWN_SECONDS if seconds is None and spent else seconds


def _http_status(error: Exception) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return int(value)
            if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) == 3:
                return int(value)
    return None


def _header(error: Exception, name: str) -> str | None:
    for holder in (getattr(error, "response", None), error):
        headers: Any = getattr(holder, "headers", None)
        if headers is None or not hasattr(headers, "items"):
            continue
        for key, value in headers.items():
            if str(key).lower() == name:
                return str(value)
    return None


def _error_text(error: Exception) -> str:
    text = str(error) or type(error).__name__
    body = getattr(error, "body", None)
    if body and str(body) not in text:
        text = f"{text} {body}"
    return cut_error_text(text)


def _first_error(error: Exception) -> Exception:
    """Return the first error of an exception group, which a model with an internal task group may raise."""
    if not isinstance(error, ExceptionGroup):
        return error
    return _first_error(cast("ExceptionGroup[Exception]", error).exceptions[0])


def _with_provider(error: SophonError, provider: str, model: str) -> SophonError:
    if isinstance(error, ModelError):
        error.provider = error.provider or provider
        error.model = error.model or model
        error.retry_after = parse_retry_after(error.retry_after)
    return error
