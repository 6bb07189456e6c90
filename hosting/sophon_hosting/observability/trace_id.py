"""Trace context: trace ids from W3C `traceparent` headers, or new ones."""

import os
import re

_TRACEPARENT = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<parent>[0-9a-f]{16})-[0-9a-f]{2}(-.*)?"
)


def new_trace_id() -> str:
    """Return a random trace id of 32 hexadecimal digits."""
    return os.urandom(16).hex()


def trace_id_from_traceparent(traceparent: str | None) -> str:
    """Return the trace id of a `traceparent` header, or a new one if it is missing or invalid.

    Source: W3C Trace Context, section 3.2.2.
    """
    match = _TRACEPARENT.fullmatch(traceparent.strip()) if traceparent else None
    if match is None or match["version"] == "ff" or (match["version"] == "00" and match[4]):
        return new_trace_id()
    if not int(match["trace"], 16) or not int(match["parent"], 16):
        return new_trace_id()
    return match["trace"]
