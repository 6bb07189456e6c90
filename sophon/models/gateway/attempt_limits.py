"""Limits on the time of one attempt, with their defaults."""

from sophon._python.lazy_dataclass import dataclass

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
