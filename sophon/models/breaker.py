"""A circuit breaker: a provider that keeps failing is left alone for a while.

    closed     --failure, the third within the window-->  open
    open       --after a while-->                         half_open
    half_open  --the one probe succeeds-->                closed
    half_open  --the one probe fails-->                   open

A failure is a call that was given up after its retries because the provider was overloaded, unreachable or silent, not
a single attempt: otherwise the retries of one call would open it. Source of the numbers: reference/clawdesk.md 1.2.
"""

from collections import deque
from typing import Literal, TypeAlias

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]

FAILURES = 3
WINDOW_SECONDS = 60.0
OPEN_SECONDS = 60.0


class Breaker:
    """Pure: `now` is passed in, in seconds that never go back.

    `begin` is followed by exactly one of `succeed`, `fail` and `abandon` (ended without a verdict on the provider).
    """

    __slots__ = ("_failed", "_failures", "_open_seconds", "_opened", "_probing", "_window_seconds")

    def __init__(
        self, failures: int = FAILURES, window_seconds: float = WINDOW_SECONDS, open_seconds: float = OPEN_SECONDS
    ) -> None:
        self._failures = failures
        self._window_seconds = window_seconds
        self._open_seconds = open_seconds
        self._failed: deque[float] = deque(maxlen=failures)
        self._opened: float | None = None
        self._probing = False

    @property
    def tripped(self) -> bool:
        """Open or half open: only then does anything else here matter to a call that goes well."""
        return self._opened is not None

    def state(self, now: float) -> BreakerState:
        """Where it stands at that moment."""
        if self._opened is None:
            return "closed"
        return "half_open" if now - self._opened >= self._open_seconds else "open"

    def allows(self, now: float) -> bool:
        """Whether a call may be made; a question that changes nothing."""
        return self._opened is None or (not self._probing and self.state(now) == "half_open")

    def begin(self, now: float) -> None:
        """A call is made; half open, it is the one probe."""
        if self.state(now) == "half_open":
            self._probing = True

    def succeed(self) -> None:
        """The provider answered, if only with a refusal of the request."""
        if self._opened is not None:
            self._opened, self._probing = None, False
            self._failed.clear()

    def fail(self, now: float) -> None:
        """The provider did not answer, whatever was tried."""
        if self._probing:
            self._opened, self._probing = now, False
        elif self._opened is None:
            self._failed.append(now)
            if len(self._failed) == self._failures and now - self._failed[0] <= self._window_seconds:
                self._opened = now

    def abandon(self) -> None:
        """The call ended before it told anything: cancelled, or refused by the budget."""
        self._probing = False
