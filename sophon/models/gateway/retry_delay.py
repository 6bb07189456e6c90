"""Delay before a retry: what the provider asks for, else exponential back-off with jitter."""

from collections.abc import Callable

from sophon.errors import BudgetExceeded, ModelError, Overloaded, RateLimited
from sophon.models.gateway.api_keys import ApiKeyPool

BACKOFF_BASE_SECONDS = 0.25
"""First back-off wait; it doubles with every retry."""
BACKOFF_CAP_SECONDS = 8.0
"""Longest back-off wait, jitter included."""
BACKOFF_JITTER = 0.2
"""Share of a wait by which it may be shorter or longer; the cap applies to the result."""


def find_retry_delay(
    failure: ModelError | BudgetExceeded,
    keys: ApiKeyPool | None,
    model: str,
    *,
    retries: int,
    random: Callable[[], float],
) -> float:
    """Return the seconds: Retry-After (with several keys, until the first is available), otherwise the back-off."""
    if keys is not None and isinstance(failure, RateLimited | Overloaded):
        retry_after = keys.retry_after_seconds(model)
    else:
        retry_after = failure.retry_after if isinstance(failure, ModelError) else None
    return backoff_seconds(retries, random()) if retry_after is None else retry_after


def backoff_seconds(retry: int, random_value: float) -> float:
    """Return the wait before a retry, counted from 1: it doubles, up to the cap, and is changed by the share of jitter.

    `random_value` is a random value in [0, 1). The state machine (retry_states.py) decides whether to retry; tenacity
    only computes the wait.
    """
    from tenacity import AsyncRetrying, RetryCallState, wait_exponential  # lazy: 40 ms, needed only after a failure

    retrying = AsyncRetrying(wait=wait_exponential(multiplier=BACKOFF_BASE_SECONDS, max=BACKOFF_CAP_SECONDS))
    state = RetryCallState(retrying, None, (), {})
    state.attempt_number = retry
    return min(BACKOFF_CAP_SECONDS, retrying.wait(state) * (1 + BACKOFF_JITTER * (2 * random_value - 1)))
