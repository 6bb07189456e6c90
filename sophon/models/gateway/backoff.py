"""Back-off between retries on one model: tenacity's exponential wait, with jitter from the clock's random source."""

from typing import TYPE_CHECKING

from sophon.clock import Clock
from sophon.models.gateway.options import GatewayOptions

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


def apply_jitter(seconds: float, options: GatewayOptions, random_value: float) -> float:
    """Return the wait changed by up to ± the jitter share, at most the cap; `random_value` is a random value in
    [0, 1).
    """
    return min(options.backoff_cap_seconds, seconds * (1 + options.backoff_jitter * (2 * random_value - 1)))
