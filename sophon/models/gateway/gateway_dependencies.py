"""Gateway context: the collaborators that all calls of one gateway share."""

from functools import lru_cache

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.models.gateway.attempt_limits import AttemptLimits
from sophon.models.gateway.options import (
    BACKOFF_BASE_SECONDS,
    BACKOFF_CAP_SECONDS,
    BACKOFF_JITTER,
    GatewayOptions,
)
from sophon.models.gateway.provider import NEVER, Provider
from sophon.models.token_counter import TokenCounter


@dataclass(frozen=True, slots=True)
class GatewayDependencies:
    """Clock, token counter and options of one gateway; the same objects for all its calls."""

    clock: Clock
    tokens: TokenCounter
    options: GatewayOptions

    def limits_of(self, provider: Provider, *, seconds_to_alternative: float = NEVER) -> AttemptLimits:
        """Return the limits of an attempt with a provider: its own timeouts, else those of the options.

        The limit on silence before the reply holds only if another candidate can be called by then.
        """
        options, attempt, idle = self.options, provider.attempt_timeout_seconds, provider.idle_timeout_seconds
        first = provider.first_output_timeout_seconds or options.first_output_timeout_seconds
        return _make_limits(
            options.attempt_timeout_seconds if attempt is None else attempt,
            options.idle_timeout_seconds if idle is None else idle,
            first if first is not None and seconds_to_alternative <= first else None,
        )


@lru_cache(maxsize=64)
def _make_limits(
    attempt_timeout_seconds: float | None,
    idle_timeout_seconds: float | None,
    first_output_timeout_seconds: float | None,
) -> AttemptLimits:
    """Cache the limits: a provider's are the same for each of its attempts."""
    return AttemptLimits(
        attempt_timeout_seconds=attempt_timeout_seconds,
        idle_timeout_seconds=idle_timeout_seconds,
        first_output_timeout_seconds=first_output_timeout_seconds,
    )


def backoff_seconds(retry: int, random_value: float) -> float:
    """Return the wait before a retry, counted from 1: it doubles, up to the cap, and is changed by the share of jitter.

    `random_value` is a random value in [0, 1). The state machine (retry_machine.py) decides whether to retry; tenacity
    only computes the wait.
    """
    from tenacity import AsyncRetrying, RetryCallState, wait_exponential  # lazy: 40 ms, needed only after a failure

    retrying = AsyncRetrying(wait=wait_exponential(multiplier=BACKOFF_BASE_SECONDS, max=BACKOFF_CAP_SECONDS))
    state = RetryCallState(retrying, None, (), {})
    state.attempt_number = retry
    return min(BACKOFF_CAP_SECONDS, retrying.wait(state) * (1 + BACKOFF_JITTER * (2 * random_value - 1)))
