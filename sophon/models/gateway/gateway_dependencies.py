"""Gateway context: the collaborators that all calls of one gateway share."""

from functools import lru_cache
from typing import TYPE_CHECKING

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.models.gateway.attempt_limits import AttemptLimits
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import NEVER, Provider
from sophon.models.token_counter import TokenCounter

if TYPE_CHECKING:
    from tenacity import AsyncRetrying


class Backoff:
    """Exponential back-off: by default 250 ms, doubling, at most 8 s, each ±20 %; deterministic under a virtual clock.

    The state machine (retry_machine.py) decides whether to retry; tenacity only computes the wait.
    """

    __slots__ = ("_clock", "_options", "_retrying")

    def __init__(self, clock: Clock, options: GatewayOptions) -> None:
        self._clock = clock
        self._options = options
        self._retrying: AsyncRetrying | None = None

    def wait_seconds(self, retry_number: int) -> float:
        """Return the wait in seconds before the given retry, counted from 1."""
        from tenacity import RetryCallState  # lazy: 40 ms, needed only when a provider fails

        state = RetryCallState(self._retrying_policy(), None, (), {})
        state.attempt_number = retry_number
        return apply_jitter(self._retrying_policy().wait(state), self._options, self._clock.random())

    async def sleep(self, seconds: float) -> None:
        """Sleep on the injected clock."""
        await self._clock.sleep(seconds)

    def _retrying_policy(self) -> "AsyncRetrying":
        if self._retrying is None:
            from tenacity import AsyncRetrying, wait_exponential  # lazy, as above

            wait = wait_exponential(
                multiplier=self._options.backoff_base_seconds, max=self._options.backoff_cap_seconds
            )
            self._retrying = AsyncRetrying(wait=wait, sleep=self._clock.sleep)
        return self._retrying


@dataclass(frozen=True, slots=True)
class GatewayDependencies:
    """Clock, token counter, options and back-off of one gateway; the same objects for all its calls."""

    clock: Clock
    tokens: TokenCounter
    options: GatewayOptions
    backoff: Backoff

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


def apply_jitter(seconds: float, options: GatewayOptions, random_value: float) -> float:
    """Return the wait changed by up to ± the jitter share, at most the cap; `random_value` is a random value in
    [0, 1).
    """
    return min(options.backoff_cap_seconds, seconds * (1 + options.backoff_jitter * (2 * random_value - 1)))
