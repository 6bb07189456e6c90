"""Whatever a provider raises, as one of our own errors.

Read in this order: errors of Sophon pass as they are; a text that speaks of the context window; the HTTP status
(`status_code` or `status` on the error or its response); the type, by name where a library would have to be imported
for it (httpx, aiohttp, openai, litellm); the text. What nobody knows is a plain ModelError, which is never repeated.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

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

QUOTA_SECONDS = 3600.0
"""How long a spent quota rests when the provider does not say when it is filled again (402, `insufficient_quota`):
asking every few seconds would not fill it."""

TEXT_LIMIT = 2000
"""Characters of an error's text that are read and kept: some providers send back the request."""


def classify(error: Exception, provider: str, model: str, *, now: datetime | None = None) -> SophonError:
    """The error as a ModelError whose cause is the original; one of Sophon's own is given back itself.

    `now` is needed to read a moment (an HTTP date, a reset time) as seconds; without it moments are ignored.
    AssertionError is raised again: a test's failure is nobody's network.
    """
    if isinstance(error, AssertionError):
        raise error
    if isinstance(error, SophonError):
        return _placed(error, provider, model)
    leaf = _leaf(error)
    if isinstance(leaf, AssertionError):
        raise leaf
    if isinstance(leaf, SophonError):
        return _placed(leaf, provider, model)
    text, status = _text(leaf), _status(leaf)
    kind = _kind(leaf, status, text)
    failure = kind(
        f"{provider}/{model}: {text}",
        provider=provider,
        model=model,
        status=status,
        retry_after=_retry_after(leaf, kind, status, text, now),
    )
    failure.__cause__ = error
    return failure


def parse_retry_after(value: object, now: datetime | None = None) -> float | None:
    """Seconds from a Retry-After (RFC 9110, 10.2.3): a number of seconds or an HTTP date; None if it is neither."""
    if isinstance(value, int | float):
        return max(0.0, float(value))
    if not isinstance(value, str):
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return _until(value, now)


_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|max(?:imum)? (?:input|prompt) (?:length|tokens)"
    r"|too many (?:input |prompt )?tokens|(?:prompt|input|request) is too (?:long|large)"
    r"|exceeds? the (?:token|context) limit|token limit exceeded|exceeds the maximum number of tokens"
    r"|reduce the length of",
    re.IGNORECASE,
)
_OVERLOAD = re.compile(r"overload|over capacity|at capacity|server is busy|model is busy", re.IGNORECASE)
_LIMIT = re.compile(r"rate[ _-]?limit|too many requests|throttl", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient[ _-]?(?:quota|credit|balance|funds)", re.IGNORECASE)
_RESET_AT = re.compile(r"resets?[_ ]at\W{1,6}([\dT:.+Z-]{8,40})", re.IGNORECASE)
_RESET_IN = re.compile(
    r"(?:resets?_(?:in|after)(?:_seconds)?\W{1,6}|(?:try again|retry|resets?) (?:in|after) )"
    r"(?:(\d+)\s?d[a-z]*)?\s?(?:(\d+)\s?h[a-z]*)?\s?(?:(\d+)\s?m(?!s)[a-z]*)?\s?(?:(\d+(?:\.\d+)?)(ms|s|\b))?",
    re.IGNORECASE,
)

_BY_STATUS: dict[int, type[ModelError]] = {
    401: AuthenticationFailed,
    402: RateLimited,
    403: AuthenticationFailed,
    408: ModelTimeout,
    413: ContextOverflow,
    429: RateLimited,
    504: ModelTimeout,
    529: Overloaded,
}
_BY_NAME: dict[str, type[ModelError]] = {
    "ContextWindowExceededError": ContextOverflow,
    "TimeoutException": ModelTimeout,
    "APITimeoutError": ModelTimeout,
    "TransportError": ProviderUnavailable,
    "APIConnectionError": ProviderUnavailable,
    "ClientConnectionError": ProviderUnavailable,
    "ClientPayloadError": ProviderUnavailable,
}
_BY_TYPE: tuple[tuple[type[Exception], type[ModelError]], ...] = (
    (TimeoutError, ModelTimeout),
    (OSError, ProviderUnavailable),
)


def _kind(error: Exception, status: int | None, text: str) -> type[ModelError]:
    if status not in (401, 402, 403, 429) and _OVERFLOW.search(text):
        return ContextOverflow
    if status is not None:
        return _by_status(status, text)
    return _by_class(error) or _by_text(text)


def _by_status(status: int, text: str) -> type[ModelError]:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return Overloaded if _OVERLOAD.search(text) else ProviderUnavailable
    return BadRequest if status >= 400 else _by_text(text)


def _by_class(error: Exception) -> type[ModelError] | None:
    for ancestor in type(error).__mro__:
        if ancestor.__name__ in _BY_NAME:
            return _BY_NAME[ancestor.__name__]
    return next((kind for known, kind in _BY_TYPE if isinstance(error, known)), None)


def _by_text(text: str) -> type[ModelError]:
    if _OVERLOAD.search(text):
        return Overloaded
    return RateLimited if _LIMIT.search(text) else ModelError


def _retry_after(
    error: Exception, kind: type[ModelError], status: int | None, text: str, now: datetime | None
) -> float | None:
    given = parse_retry_after(getattr(error, "retry_after", None), now)
    if given is None:
        given = parse_retry_after(_header(error, "retry-after"), now)
    if given is None and kind in (RateLimited, Overloaded):
        given = _reset(text, now)
    spent = status == 402 or (kind is RateLimited and _QUOTA.search(text))
    return QUOTA_SECONDS if given is None and spent else given


def _reset(text: str, now: datetime | None) -> float | None:
    """The moment or the span that a body names, as weekly quotas do."""
    if moment := _RESET_AT.search(text):
        return _until(moment[1], now)
    span = _RESET_IN.search(text)
    if span is None or not any(span.groups()[:4]):
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in span.groups()[:4])
    return days * 86400 + hours * 3600 + minutes * 60 + (seconds / 1000 if span[5] == "ms" else seconds)


def _until(moment: str, now: datetime | None) -> float | None:
    if now is None:
        return None
    try:
        if re.fullmatch(r"\d{10}(?:\.\d+)?", moment):
            then = datetime.fromtimestamp(float(moment), UTC)
        elif moment[:4].isdigit():
            then = datetime.fromisoformat(moment)
        else:
            then = parsedate_to_datetime(moment)
    except (ValueError, OverflowError):
        return None
    aware = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _status(error: Exception) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return int(value)
            if isinstance(value, str) and value.isdigit():
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


def _text(error: Exception) -> str:
    text = str(error) or type(error).__name__
    body = getattr(error, "body", None)
    if body and str(body) not in text:
        text = f"{text} {body}"
    return text[:TEXT_LIMIT]


def _leaf(error: Exception) -> Exception:
    """The first error in a group: a model that uses a task group inside may raise one."""
    if not isinstance(error, ExceptionGroup):
        return error
    return _leaf(cast("ExceptionGroup[Exception]", error).exceptions[0])


def _placed(error: SophonError, provider: str, model: str) -> SophonError:
    if isinstance(error, ModelError):
        error.provider = error.provider or provider
        error.model = error.model or model
    return error
