"""Which trace a message belongs to: that of its sender, by W3C Trace Context, or a new one."""

import os
import re

_PARENT = re.compile(r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<parent>[0-9a-f]{16})-[0-9a-f]{2}(-.*)?")


def new_trace() -> str:
    """32 hexadecimal digits."""
    return os.urandom(16).hex()


def trace_of(traceparent: str | None) -> str:
    """The trace id of a `traceparent` header; a new one for none, or for one that is not as the standard has it.

    Source: W3C Trace Context, section 3.2.2.
    """
    match = _PARENT.fullmatch(traceparent.strip()) if traceparent else None
    if match is None or match["version"] == "ff" or (match["version"] == "00" and match[4]):
        return new_trace()
    if not int(match["trace"], 16) or not int(match["parent"], 16):
        return new_trace()
    return match["trace"]
