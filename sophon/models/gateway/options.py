"""Gateway options: retries, the limits of an attempt, the times of back-off, cool-down and waits; shared dependencies.

A wait that a provider requests (Retry-After) is kept to the second and never shortened. If it exceeds
`MAX_WAIT_SECONDS`, the gateway calls the next candidate instead. For the last candidate the limit is
`LAST_CANDIDATE_MAX_WAIT_SECONDS`; beyond it the error is raised at once with its `retry_after`. Source:
Sophon's guide, LLM invoker; the rest is decided here.
"""

from functools import lru_cache

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.models.reply_size import MAX_REPLY_BYTES
from sophon.models.token_counter import TokenCounter

KEY_COOLDOWN_SECONDS = 60.0
"""Cool-down of a key after a 429 or an overload (529) without Retry-After."""
MAX_WAIT_SECONDS = 8.0
"""Longest wait before a retry while another candidate is left."""
LAST_CANDIDATE_MAX_WAIT_SECONDS = 60.0
"""Longest wait before a retry on the last candidate: the usual period of a rate limit."""

ATTEMPT_TIMEOUT_SECONDS = 1200.0
"""Whole attempt: 4096 tokens at four per second take 17 minutes. Less than AgentExecution.MaxExecutionTime (2 hours),
so that a turn outlives one hopeless attempt."""

IDLE_TIMEOUT_SECONDS = 600.0
"""Streamed reply without anything said, the first token included: a prompt of 100,000 tokens at 200 per second on a CPU
takes more than eight minutes, and models that hide their reasoning are silent for minutes. The clients of OpenAI and
Anthropic wait as long by default."""

FIRST_OUTPUT_TIMEOUT_SECONDS = 60.0
"""Silence before the reply begins, while another candidate is left. A reply that is not streamed begins when it is
there. The last candidate has its idle and attempt timeouts: a slow answer is better than none."""

SILENCE_NOTICE_SECONDS = 60.0
"""Silence before the reply begins, after which whoever watches the turn is told what is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptLimits:
    """Limits on the time of an attempt; None means no limit."""

    attempt_timeout_seconds: float | None = ATTEMPT_TIMEOUT_SECONDS
    idle_timeout_seconds: float | None = IDLE_TIMEOUT_SECONDS
    first_output_timeout_seconds: float | None = None


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


@dataclass(frozen=True, slots=True)
class GatewayDependencies:
    """Clock, token counter and options of one gateway; the same objects for all its calls."""

    clock: Clock
    tokens: TokenCounter
    options: GatewayOptions


@lru_cache(maxsize=64)
def make_attempt_limits(
    attempt_timeout_seconds: float | None,
    idle_timeout_seconds: float | None,
    first_output_timeout_seconds: float | None,
) -> AttemptLimits:
    """Return the limits, cached: a provider's are the same for each of its attempts."""
    return AttemptLimits(
        attempt_timeout_seconds=attempt_timeout_seconds,
        idle_timeout_seconds=idle_timeout_seconds,
        first_output_timeout_seconds=first_output_timeout_seconds,
    )
