"""Circuit breaker: a provider that keeps failing is not called for a while.

    closed     --third failure within the window-->       open
    open       --after `OPEN_SECONDS`-->                  half_open
    half_open  --the probe succeeds-->                    closed
    half_open  --the probe fails-->                       open

A failure is a call that ended after its retries because the provider was overloaded, unreachable or silent, not a
single attempt: otherwise the retries of one call would open the circuit. Source of the numbers: reference/clawdesk.md
1.2.
"""

from collections import deque
from typing import Literal, TypeAlias

CircuitState: TypeAlias = Literal["closed", "open", "half_open"]

FAILURE_THRESHOLD = 3
"""Failures within the window that open the circuit."""
WINDOW_SECONDS = 60.0
"""Length of the window in which failures are counted."""
OPEN_SECONDS = 60.0
"""How long the circuit stays open before a probe is allowed."""


class CircuitBreaker:
    """Circuit breaker of one provider. Pure: the caller passes `now`, in monotonic seconds.

    `start_call` must be followed by exactly one of `record_success`, `record_failure` and `abandon_call` (no conclusion
    about the provider).
    """

    __slots__ = (
        "_failure_threshold",
        "_failure_times",
        "_is_probing",
        "_open_seconds",
        "_opened_at",
        "_window_seconds",
    )

    def __init__(
        self,
        failure_threshold: int = FAILURE_THRESHOLD,
        window_seconds: float = WINDOW_SECONDS,
        open_seconds: float = OPEN_SECONDS,
    ) -> None:
        self._failure_threshold = failure_threshold
        self._window_seconds = window_seconds
        self._open_seconds = open_seconds
        self._failure_times: deque[float] = deque(maxlen=failure_threshold)
        self._opened_at: float | None = None
        self._is_probing = False

    @property
    def is_tripped(self) -> bool:
        """Whether the circuit is open or half open; while it is closed, a successful call need not be recorded."""
        return self._opened_at is not None

    def state(self, now: float) -> CircuitState:
        """Return the state at `now`."""
        if self._opened_at is None:
            return "closed"
        return "half_open" if now - self._opened_at >= self._open_seconds else "open"

    def allows_call(self, now: float) -> bool:
        """Return whether a call is allowed at `now`; changes nothing."""
        return self._opened_at is None or (not self._is_probing and self.state(now) == "half_open")

    def start_call(self, now: float) -> None:
        """Record the start of a call; in the half-open state it is the probe."""
        if self.state(now) == "half_open":
            self._is_probing = True

    def record_success(self) -> None:
        """Record that the provider answered, even if it rejected the request; closes the circuit."""
        if self._opened_at is not None:
            self._opened_at, self._is_probing = None, False
            self._failure_times.clear()

    def record_failure(self, now: float) -> None:
        """Record that the provider did not answer, retries included."""
        if self._is_probing:
            self._opened_at, self._is_probing = now, False
        elif self._opened_at is None:
            self._failure_times.append(now)
            if (
                len(self._failure_times) == self._failure_threshold
                and now - self._failure_times[0] <= self._window_seconds
            ):
                self._opened_at = now

    def seconds_until_probe(self, now: float) -> float:
        """Return the seconds until a probe is allowed; 0 unless the circuit is open."""
        return 0.0 if self._opened_at is None else max(0.0, self._opened_at + self._open_seconds - now)

    def reset(self) -> None:
        """Close the circuit and forget the failures, because an operator says so."""
        self._opened_at, self._is_probing = None, False
        self._failure_times.clear()

    def abandon_call(self) -> None:
        """Record that the call ended without a conclusion about the provider (cancelled, or over budget)."""
        self._is_probing = False
