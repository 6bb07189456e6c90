"""Retry-After: the seconds that a provider asks to wait, from its headers, a field of an error, or an error's text."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from sophon._python.lazy_pattern import lazy_pattern

MAX_RETRY_AFTER_SECONDS = 31 * 86400.0
"""Longest wait that a provider is believed, in seconds: a monthly quota. A key pauses for an hour at most even so."""


def read_retry_after(headers: Mapping[str, str]) -> float | str | None:
    """Return the wait from lower-case headers: OpenAI's `retry-after-ms` in seconds, else the text of `retry-after`."""
    milliseconds = parse_decimal(headers.get("retry-after-ms", ""))
    return milliseconds / 1000 if milliseconds is not None else headers.get("retry-after")


def parse_retry_after(value: object, now: datetime | None = None) -> float | None:
    """Parse a Retry-After value (RFC 9110, 10.2.3: seconds or an HTTP date) to seconds; None if it is neither.

    A time in the past is 0; a longer one than `MAX_RETRY_AFTER_SECONDS` is bounded; no finite number is ignored.
    """
    if isinstance(value, int | float):
        return None if isinstance(value, bool) else _bound_seconds(value)
    if not isinstance(value, str):
        return None
    number = parse_decimal(value)
    return _bound_seconds(number) if number is not None else _seconds_until(value.strip(), now)


def seconds_until_reset(text: str, now: datetime | None) -> float | None:
    """Return the seconds until the reset time or after the time span that an error text names."""
    if moment := _RESET_AT.search(text):
        return _seconds_until(moment[1], now)
    span = _RESET_IN.search(text)
    if span is None or not any(span.groups()[:4]):
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in span.groups()[:4])
    return _bound_seconds(days * 86400 + hours * 3600 + minutes * 60 + (seconds / 1000 if span[5] == "ms" else seconds))


def parse_decimal(text: str) -> float | None:
    """Parse a decimal number, also with sign, fraction and exponent; None for anything else, such as `nan` or `inf`."""
    if _DECIMAL.fullmatch(text.strip()) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _seconds_until(moment: str, now: datetime | None) -> float | None:
    if now is None:
        return None
    try:
        if re.fullmatch(r"\d{10}(?:\.\d+)?", moment):
            then = datetime.fromtimestamp(float(moment), UTC)
        elif moment[:4].isdigit():
            then = datetime.fromisoformat(moment)
        else:
            from email.utils import parsedate_to_datetime  # lazy: few providers write such a date

            then = parsedate_to_datetime(moment)
        aware = then if then.tzinfo else then.replace(tzinfo=UTC)
        return _bound_seconds((aware - now).total_seconds())
    except (ValueError, OverflowError, TypeError):
        return None


def _bound_seconds(seconds: float) -> float | None:
    """Return the seconds within 0 and the maximum; None for what is not finite."""
    try:
        finite = math.isfinite(seconds)
    except OverflowError:  # an integer of hundreds of digits
        return None
    return min(max(0.0, float(seconds)), MAX_RETRY_AFTER_SECONDS) if finite else None


_DECIMAL = lazy_pattern(r"[+-]?[0-9]{1,300}(?:\.[0-9]{0,300})?(?:[eE][+-]?[0-9]{1,3})?")
_RESET_AT = lazy_pattern(r"resets?[_ ]at\W{1,6}([\dT:.+Z-]{8,40})", re.IGNORECASE)
_RESET_IN = lazy_pattern(
    r"(?:resets?_(?:in|after)(?:_seconds)?\W{1,6}|(?:try again|retry|resets?) (?:in|after) )"
    r"(?:(\d+)\s?d[a-z]*)?\s?(?:(\d+)\s?h[a-z]*)?\s?(?:(\d+)\s?m(?!s)[a-z]*)?\s?(?:(\d+(?:\.\d+)?)(ms|s|\b))?",
    re.IGNORECASE,
)
