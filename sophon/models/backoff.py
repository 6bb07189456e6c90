"""How long to wait before asking the same model again: tenacity's exponential wait, with jitter from the clock."""

from typing import TYPE_CHECKING

from sophon.clock import Clock
from sophon.models.options import GatewayOptions

if TYPE_CHECKING:
    from tenacity import AsyncRetrying


class Backoff:
    """Base 250 ms, doubling, at most 8 s, each ±20 %; deterministic under a virtual clock.

    The decision whether to retry is the machine's (retries.py); tenacity computes the wait and carries the sleep.
    """

    __slots__ = ("_clock", "_options", "_retrying")

    def __init__(self, clock: Clock, options: GatewayOptions) -> None:
        self._clock = clock
        self._options = options
        self._retrying: AsyncRetrying | None = None

    def seconds(self, retry: int) -> float:
        """The wait before the given retry, counted from 1."""
        from tenacity import RetryCallState  # 40 ms that only a failing provider costs

        state = RetryCallState(self._policy(), None, (), {})
        state.attempt_number = retry
        return jittered(self._policy().wait(state), self._options, self._clock.random())

    async def sleep(self, seconds: float) -> None:
        """Wait on the clock."""
        await self._clock.sleep(seconds)

    def _policy(self) -> "AsyncRetrying":
        if self._retrying is None:
            from tenacity import AsyncRetrying, wait_exponential  # as above

            wait = wait_exponential(multiplier=self._options.base_seconds, max=self._options.cap_seconds)
            self._retrying = AsyncRetrying(wait=wait, sleep=self._clock.sleep)
        return self._retrying


def jittered(seconds: float, options: GatewayOptions, chance: float) -> float:
    """A wait moved by up to the jitter either way, `chance` in [0, 1); never beyond the cap."""
    return min(options.cap_seconds, seconds * (1 + options.jitter * (2 * chance - 1)))
