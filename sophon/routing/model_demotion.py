"""Demotion of models: one that fails or is slow is left out of its tier, and comes back through probes.

    in use       --`failures` failed or slow calls within `window`-->  cooling down
    cooling down --the last `probe_lead` of the cool-down-->           probed every `probe_interval`
    probed       --a probe succeeds, or the cool-down ends-->          in use
    probed       --`max_probes` probes fail-->                         cooling down, without probes, until its end
    in use again after a cool-down: the first failed call begins another one

A probe is a message that is routed to the model; the models after it in the route answer if it fails. Source of the
numbers: reference/clawdesk.md 1.2.
"""

from collections import deque
from dataclasses import field

from sophon.lazy_dataclass import dataclass
from sophon.settings.sections.routing import DemotionSettings

MAX_MODELS = 1000
"""Bound on the models that are watched; more than a host has."""


@dataclass(slots=True)
class ModelWatch:
    """What is known about one model. Times are monotonic seconds."""

    failures: deque[float] = field(default_factory=deque[float])
    demoted_at: float | None = None
    probed_at: float | None = None
    failed_probes: int = 0
    is_recovering: bool = False
    """Whether the cool-down has ended and no call has succeeded since."""


class ModelDemotions:
    """The demoted models of a process. Pure: the caller passes `now`, in monotonic seconds."""

    def __init__(self, settings: DemotionSettings) -> None:
        self._settings = settings
        self._watched: dict[str, ModelWatch] = {}

    def allows(self, model: str, now: float) -> bool:
        """Return whether a model may be asked: it is in use, its cool-down is over, or a probe is due."""
        watch = self._watched.get(model)
        if watch is None or watch.demoted_at is None:
            return True
        options, elapsed = self._settings, now - watch.demoted_at
        cooldown = options.cooldown.total_seconds()
        if elapsed >= cooldown:
            return True
        if elapsed < cooldown - options.probe_lead.total_seconds() or watch.failed_probes >= options.max_probes:
            return False
        return watch.probed_at is None or now - watch.probed_at >= options.probe_interval.total_seconds()

    def start_call(self, model: str, now: float) -> None:
        """Record that a model is asked; if it is cooling down, this is the probe, and no other is due for a while."""
        watch = self._watched.get(model)
        if watch is None or watch.demoted_at is None:
            return
        if now - watch.demoted_at >= self._settings.cooldown.total_seconds():
            watch.demoted_at, watch.probed_at, watch.failed_probes, watch.is_recovering = None, None, 0, True
        else:
            watch.probed_at = now

    def record(self, model: str, now: float, *, seconds: float, has_failed: bool) -> bool:
        """Record the end of a call; return whether it demoted the model."""
        options = self._settings
        is_bad = has_failed or seconds >= options.slow.total_seconds()
        watch = self._watched.get(model)
        if not is_bad:
            if watch is not None:
                del self._watched[model]
            return False
        if watch is None:
            if len(self._watched) >= MAX_MODELS:
                return False
            watch = self._watched[model] = ModelWatch()
        if watch.demoted_at is not None:
            watch.failed_probes += watch.probed_at is not None
            return False
        watch.failures.append(now)
        while now - watch.failures[0] > options.window.total_seconds():
            watch.failures.popleft()
        if len(watch.failures) < options.failures and not watch.is_recovering:
            return False
        watch.demoted_at, watch.is_recovering = now, False
        watch.failures.clear()
        return True

    def list_demoted(self, now: float) -> dict[str, float]:
        """Return the models that are cooling down, with the seconds until that ends."""
        cooldown = self._settings.cooldown.total_seconds()
        left = {
            name: watch.demoted_at + cooldown - now
            for name, watch in self._watched.items()
            if watch.demoted_at is not None
        }
        return {name: seconds for name, seconds in left.items() if seconds > 0}

    def reset(self) -> None:
        """Forget all failures."""
        self._watched.clear()
