"""Where models come from: a provider with its models, its keys and its state of health."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sophon.models.breaker import Breaker
from sophon.models.keys import KeyRing, KeyStatistics
from sophon.models.model import Model, ModelInfo

Health: TypeAlias = Literal["active", "inactive", "benched", "no_keys"]
"""`benched`: the breaker is open; `no_keys`: every key was refused."""


@dataclass(frozen=True, slots=True)
class ProviderStatistics:
    """What an operator sees of a provider; `keys` is None where none is needed."""

    id: str
    health: Health
    attempts: int
    failures: int
    last_error: str
    keys: KeyStatistics | None


class Provider:
    """Models behind one door; the first is its default. A lower `priority` is asked earlier; it is read once, by the
    gateway. `active` may be switched at any time. Without `keys` the models are asked without one (local models).
    """

    __slots__ = ("_own", "active", "attempts", "breaker", "failures", "id", "keys", "last_error", "models", "priority")

    def __init__(
        self,
        id: str,  # noqa: A002 - the name it has in the settings and on the wire
        models: Sequence[Model],
        priority: int = 1,
        active: bool = True,
        keys: KeyRing | None = None,
    ) -> None:
        if not models:
            raise ValueError(f"provider {id!r} has no models; name at least one")
        self.id = id
        self.models = tuple(models)
        self.priority = priority
        self.active = active
        self.keys = keys
        self.breaker = Breaker()
        self.attempts = 0
        self.failures = 0
        self.last_error = ""
        self._own: dict[ModelInfo, ModelInfo] = {}

    def __repr__(self) -> str:
        return f"Provider({self.id!r}, {len(self.models)} models, priority={self.priority})"

    def health(self, now: float) -> Health:
        """Whether it can be asked at that moment (monotonic seconds), and if not, why."""
        if not self.active:
            return "inactive"
        if self.keys is not None and self.keys.exhausted:
            return "no_keys"
        return "active" if self.breaker.allows(now) else "benched"

    def own(self, info: ModelInfo) -> ModelInfo:
        """What is known of one of its models, under its own id; always the same object for the same model."""
        found = self._own.get(info)
        if found is None:
            found = self._own[info] = replace(info, provider=self.id)
        return found

    def statistics(self, now: float) -> ProviderStatistics:
        """Counted since the process began: attempts, those that failed, and the code of the last failure."""
        keys = self.keys.statistics() if self.keys is not None else None
        return ProviderStatistics(self.id, self.health(now), self.attempts, self.failures, self.last_error, keys)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model that may be asked, and who offers it."""

    provider: Provider
    model: Model

    @property
    def info(self) -> ModelInfo:
        """What is known of the model, under the id of whoever offers it: budgets and books go by that."""
        info = self.model.info
        return info if info.provider == self.provider.id else self.provider.own(info)
