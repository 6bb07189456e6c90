"""W3C Trace Context: parsing and writing of `traceparent`, and the one that what a turn calls gets passed on.

Source: W3C Trace Context, section 3.2.
"""

import os
import re
from contextvars import ContextVar
from hashlib import blake2b
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern

HEADER: Final = "traceparent"

_TRACEPARENT = lazy_pattern(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<rest>-.*)?",
    re.ASCII,
)

_SAMPLED: Final = 1


@dataclass(frozen=True, slots=True)
class TraceContext:
    """Trace id (32 hexadecimal digits), the id of a span in it (16), and whether its sender records the trace."""

    trace_id: str
    span_id: str
    sampled: bool = True

    def to_header(self) -> str:
        """Return the value of a `traceparent` header."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"

    def child(self, span_id: str) -> "TraceContext":
        """Return the context of another span of the same trace."""
        return TraceContext(self.trace_id, span_id, self.sampled)


PROPAGATED: ContextVar[TraceContext | None] = ContextVar("sophon.traces.trace_context", default=None)
"""What model requests, MCP calls and programs of the present turn pass on; None: nothing is passed on."""


def parse_traceparent(header: str | None) -> TraceContext | None:
    """Return the context of a `traceparent` header; None if it is missing or invalid."""
    found = _TRACEPARENT.fullmatch(header.strip()) if header else None
    if found is None or found["version"] == "ff" or (found["version"] == "00" and found["rest"]):
        return None
    if not int(found["trace"], 16) or not int(found["span"], 16):
        return None
    return TraceContext(found["trace"], found["span"], bool(int(found["flags"], 16) & _SAMPLED))


def find_traceparent() -> str | None:
    """Return the header that the present turn passes on; None if it passes on none."""
    found = PROPAGATED.get()
    return None if found is None else found.to_header()


def new_trace_id() -> str:
    """Return a random trace id of 32 hexadecimal digits."""
    return os.urandom(16).hex()


def new_span_id() -> str:
    """Return a random span id of 16 hexadecimal digits."""
    return os.urandom(8).hex()


def derive_span_id(*parts: str) -> str:
    """Return the span id that belongs to a thing, the same in every process: that of a run, or of a tool call of it."""
    return blake2b("\0".join(parts).encode(errors="replace"), digest_size=8).hexdigest()
