"""Circuit breaker: a provider, or a model of a tier, that keeps failing is not called for a while, then probed.

    closed     --third failure within the window-->       open
    open       --after `OPEN_SECONDS`-->                  half_open
    half_open  --the probe succeeds-->                    closed
    half_open  --the probe fails-->                       half_open after `PROBE_INTERVAL_SECONDS`; open after 5 of them

A failure is a call that ended after its retries because the provider was overloaded, unreachable or silent, not a
single attempt: otherwise the retries of one call would open the circuit. A probe is a call of a turn; what follows in
its route answers if it fails. Source of the numbers: ClawDesk, fallback machine; a cool-down is there 120 seconds of
probes behind the time without any.
"""

from collections import deque
from typing import Final, Literal, TypeAlias

CircuitState: TypeAlias = Literal["closed", "open", "half_open"]

FAILURE_THRESHOLD: Final = 3
"""Failures within the window that open the circuit."""
WINDOW_SECONDS: Final = 60.0
"""Length of the window in which failures are counted."""
OPEN_SECONDS: Final = 60.0
"""How long the circuit stays open before a probe is allowed."""
PROBE_INTERVAL_SECONDS: Final = 30.0
"""Time between a failed probe and the next one; at most the time for which the circuit is open."""
MAX_PROBES: Final = 5
"""Failed probes after which the circuit is open again for the whole time."""


class CircuitBreaker:
    """Circuit breaker of one provider or model. Pure: the caller passes `now`, in monotonic seconds.

    `start_call` must be followed by exactly one of `record_success`, `record_failure` and `abandon_call` (no conclusion
    about the provider).
    """

    __slots__ = (
        "_failed_probes",
        "_failure_times",
        "_is_probing",
        "_open_seconds",
        "_probe_interval_seconds",
        "probe_at",
    )

    def __init__(self, open_seconds: float = OPEN_SECONDS) -> None:
        self._open_seconds = open_seconds
        self._probe_interval_seconds = min(PROBE_INTERVAL_SECONDS, open_seconds)
        self._failure_times: deque[float] = deque(maxlen=FAILURE_THRESHOLD)
        self.probe_at: float | None = None
        """When the next probe is allowed; None while the circuit is closed: a successful call need not be recorded."""
        self._is_probing = False
        self._failed_probes = 0

    def state(self, now: float) -> CircuitState:
        """Return the state at `now`."""
        if self.probe_at is None:
            return "closed"
        return "half_open" if now >= self.probe_at else "open"

    def allows_call(self, now: float) -> bool:
        """Return whether a call is allowed at `now`; changes nothing."""
        return self.probe_at is None or (not self._is_probing and now >= self.probe_at)

    def start_call(self, now: float) -> None:
        """Record the start of a call; in the half-open state it is the probe."""
        if self.state(now) == "half_open":
            self._is_probing = True

    def record_success(self) -> None:
        """Record that the provider answered, even if it rejected the request; closes the circuit."""
        if self.probe_at is not None:
            self.reset()

    def record_failure(self, now: float) -> None:
        """Record that the provider did not answer, retries included."""
        if self._is_probing:
            self._is_probing = False
            self._failed_probes += 1
            has_given_up = self._failed_probes == MAX_PROBES
            self.probe_at = now + (self._open_seconds if has_given_up else self._probe_interval_seconds)
            if has_given_up:
                self._failed_probes = 0
        elif self.probe_at is None:
            self._failure_times.append(now)
            if len(self._failure_times) == FAILURE_THRESHOLD and now - self._failure_times[0] <= WINDOW_SECONDS:
                self.probe_at = now + self._open_seconds

    def seconds_until_probe(self, now: float) -> float:
        """Return the seconds until a probe is allowed; 0 unless the circuit is open."""
        return 0.0 if self.probe_at is None else max(0.0, self.probe_at - now)

    def reset(self) -> None:
        """Close the circuit and forget the failures, because a call succeeded or an operator says so."""
        self.probe_at, self._is_probing, self._failed_probes = None, False, 0
        self._failure_times.clear()

    def abandon_call(self) -> None:
        """Record that the call ended without a conclusion about the provider (cancelled, or over budget)."""
        self._is_probing = False
