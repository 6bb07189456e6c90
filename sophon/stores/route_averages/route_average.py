"""Moving averages of routing: how a model did, per tier and task type."""

from datetime import datetime, timedelta

from sophon._python.lazy_dataclass import dataclass

MAX_KEYS = 10_000
"""Bound on the averages that are kept; the one that was updated longest ago is deleted for a new one."""
SMOOTHING = 0.1
"""Weight of a new observation: ten answers say how a model does, and a month-old one says hardly anything."""
EXPIRY = timedelta(days=30)
"""Time without observations after which an average is not used, and begins anew: the model may be another by then."""


@dataclass(frozen=True, slots=True)
class RouteObservation:
    """Observation of one model call, or of the quality of a turn's reply, of one model, tier and task type.

    None says nothing about that value: a model without a price has no cost, which is not the same as 0. `quality` is 0
    to 1; `has_failed` counts a call that ended in an error. `said` is what people said about an answer, 0 (bad) to 1
    (good), which is averaged by itself.
    """

    model: str
    tier: str
    task_type: str
    at: datetime
    cost_micros: float | None = None
    latency_ms: float | None = None
    quality: float | None = None
    has_failed: bool = False
    said: float | None = None


@dataclass(frozen=True, slots=True)
class RouteAverage:
    """Exponential moving averages of one model, tier and task type; None before the first observation of a value.

    `calls` and `failures` are counted since the last reset, `scored` is the number of observations of the quality,
    `rated` that of what people said.
    """

    model: str
    tier: str
    task_type: str
    calls: int = 0
    failures: int = 0
    scored: int = 0
    cost_micros: float | None = None
    latency_ms: float | None = None
    quality: float | None = None
    updated_at: datetime | None = None
    rated: int = 0
    said: float | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Model, tier and task type."""
        return (self.model, self.tier, self.task_type)

    def is_expired(self, now: datetime) -> bool:
        """Return whether nothing was observed for as long as `EXPIRY`."""
        return self.updated_at is not None and now - self.updated_at >= EXPIRY

    def observe(self, observation: RouteObservation) -> "RouteAverage":
        """Return the averages after an observation."""
        if self.is_expired(observation.at):
            return RouteAverage(*self.key).observe(observation)
        is_call = observation.latency_ms is not None or observation.has_failed
        return RouteAverage(
            *self.key,
            self.calls + is_call,
            self.failures + observation.has_failed,
            self.scored + (observation.quality is not None),
            _move(self.cost_micros, observation.cost_micros),
            _move(self.latency_ms, observation.latency_ms),
            _move(self.quality, observation.quality),
            observation.at,
            self.rated + (observation.said is not None),
            _move(self.said, observation.said),
        )


def _move(average: float | None, value: float | None) -> float | None:
    if value is None:
        return average
    return value if average is None else average + SMOOTHING * (value - average)
