"""Gateway options: retries, and the limits of an attempt; the times of back-off, cool-down and waits.

A wait that a provider requests (Retry-After) is kept to the second and never shortened. If it exceeds
`MAX_WAIT_SECONDS`, the gateway calls the next candidate instead. For the last candidate the limit is
`LAST_CANDIDATE_MAX_WAIT_SECONDS`; beyond it the error is raised at once with its `retry_after`. Source:
Sophon's guide, LLM invoker; the rest is decided here.
"""

from sophon._python.lazy_dataclass import dataclass
from sophon.models.gateway.attempt_limits import (
    ATTEMPT_TIMEOUT_SECONDS,
    FIRST_OUTPUT_TIMEOUT_SECONDS,
    IDLE_TIMEOUT_SECONDS,
)
from sophon.models.reply_size import MAX_REPLY_BYTES

BACKOFF_BASE_SECONDS = 0.25
"""First back-off wait; it doubles with every retry."""
BACKOFF_CAP_SECONDS = 8.0
"""Longest back-off wait, jitter included."""
BACKOFF_JITTER = 0.2
"""Share of a wait by which it may be shorter or longer; the cap applies to the result."""
KEY_COOLDOWN_SECONDS = 60.0
"""Cool-down of a key after a 429 or an overload (529) without Retry-After."""
MAX_WAIT_SECONDS = BACKOFF_CAP_SECONDS
"""Longest wait before a retry while another candidate is left."""
LAST_CANDIDATE_MAX_WAIT_SECONDS = 60.0
"""Longest wait before a retry on the last candidate: the usual period of a rate limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOptions:
    """Retries of a gateway, and the limits of an attempt."""

    max_retries: int = 3
    """Further attempts on one model after the first; a change of key does not count as a retry."""
    attempt_timeout_seconds: float | None = ATTEMPT_TIMEOUT_SECONDS
    """Longest time of one attempt, for providers without a limit of their own; None for no limit."""
    idle_timeout_seconds: float | None = IDLE_TIMEOUT_SECONDS
    """Longest time in which a streaming model writes nothing, for providers without a limit of their own."""
    first_output_timeout_seconds: float | None = FIRST_OUTPUT_TIMEOUT_SECONDS
    """Longest time before a model begins its reply, while another candidate is left; None for no limit."""
    max_reply_bytes: int = MAX_REPLY_BYTES
    """Size of one reply: text, reasoning and tool calls in UTF-8. Beyond it the attempt ends with ResponseTooLarge."""
