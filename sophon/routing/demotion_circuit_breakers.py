"""Demotion of models: one that fails or is slow is left out of its tier, and comes back through probes.

It has the circuit breaker of the gateway, which is open for longer here: the turns have other models meanwhile.
"""

from typing import Final

from sophon.models.gateway.circuit_breaker import CircuitBreaker

MAX_MODELS: Final = 1000
"""Bound on the models that are watched; more than a host has."""
SLOW_SECONDS: Final = 60.0
"""Duration of a model call from which it counts as a failure."""
DEMOTED_SECONDS: Final = 180.0
"""How long a model is left out before it is probed: a cool-down of 300 seconds, of which the last 120 have probes."""


class ModelDemotions:
    """The demoted models of a process. Pure: the caller passes `now`, in monotonic seconds."""

    def __init__(self) -> None:
        self._breakers: dict[str, CircuitBreaker] = {}

    def allows(self, model: str, now: float) -> bool:
        """Return whether a model may be asked: it is in use, or a probe is due."""
        breaker = self._breakers.get(model)
        return breaker is None or breaker.allows_call(now)

    def start_call(self, model: str, now: float) -> None:
        """Record that a model is asked; `record` or `abandon` must follow. If it is demoted, this is the probe."""
        if (breaker := self._breakers.get(model)) is not None:
            breaker.start_call(now)

    def record(self, model: str, now: float, *, seconds: float, has_failed: bool) -> bool:
        """Record the end of a call; return whether it demoted the model."""
        breaker = self._breakers.get(model)
        if not has_failed and seconds < SLOW_SECONDS:
            if breaker is not None:
                del self._breakers[model]
            return False
        if breaker is None:
            if len(self._breakers) >= MAX_MODELS:
                return False
            breaker = self._breakers[model] = CircuitBreaker(open_seconds=DEMOTED_SECONDS)
        was_demoted = breaker.probe_at is not None
        breaker.record_failure(now)
        return breaker.probe_at is not None and not was_demoted

    def abandon(self, model: str) -> None:
        """Record that a call ended without a conclusion about the model."""
        if (breaker := self._breakers.get(model)) is not None:
            breaker.abandon_call()

    def list_demoted(self, now: float) -> dict[str, float]:
        """Return the demoted models, with the seconds until they are probed."""
        demoted = ((name, each) for name, each in self._breakers.items() if each.probe_at is not None)
        return {name: each.seconds_until_probe(now) for name, each in demoted}

    def reset(self) -> None:
        """Forget all failures."""
        self._breakers.clear()
