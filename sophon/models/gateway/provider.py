"""Providers and candidates at run time: models, API keys, circuit breaker, health and counters."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.models.gateway.api_keys import ApiKeyPool, ApiKeyStatistics
from sophon.models.gateway.circuit_breaker import CircuitBreaker, CircuitState
from sophon.models.model import Model, ModelInfo

ProviderHealth: TypeAlias = Literal["active", "inactive", "benched", "no_keys"]
"""`benched`: the circuit breaker is open; `no_keys`: every key was rejected."""


@dataclass(frozen=True, slots=True)
class ProviderStatistics:
    """Health and counters of a provider, as shown to operators; `keys` is None for a provider without keys."""

    id: str
    health: ProviderHealth
    attempts: int
    failures: int
    last_error: str
    keys: ApiKeyStatistics | None
    circuit: CircuitState = "closed"
    available_in_seconds: float = 0.0
    """Seconds until the provider is called again: the end of the cool-down of its keys or of the open circuit."""


class Provider:
    """A configured endpoint with its models (the first is the default), keys, circuit breaker and counters.

    A provider with a lower `priority` is called earlier; the gateway reads it once. `active` may be changed at any
    time. Without `keys` the models are called without a key (local models). `default_prices` are those of its models
    whose price is unknown, unless they are local. The timeouts of an attempt are the gateway's where they are None.
    """

    __slots__ = (
        "_qualified_infos",
        "_waiting",
        "active",
        "attempt_timeout_seconds",
        "attempts",
        "breaker",
        "default_prices",
        "failures",
        "first_output_timeout_seconds",
        "id",
        "idle_timeout_seconds",
        "keys",
        "last_error",
        "models",
        "priority",
    )

    def __init__(
        self,
        id: str,  # noqa: A002 - the name used in the settings and on the wire
        models: Sequence[Model],
        priority: int = 1,
        active: bool = True,
        keys: ApiKeyPool | None = None,
        *,
        attempt_timeout_seconds: float | None = None,
        idle_timeout_seconds: float | None = None,
        first_output_timeout_seconds: float | None = None,
    ) -> None:
        if not models:
            raise ValueError(f"provider {id!r} has no models; name at least one")
        self.id = id
        self.models = tuple(models)
        self.priority = priority
        self.active = active
        self.keys = keys
        self.attempt_timeout_seconds = attempt_timeout_seconds
        self.idle_timeout_seconds = idle_timeout_seconds
        self.first_output_timeout_seconds = first_output_timeout_seconds
        self.default_prices: tuple[float, float] | None = None
        self.breaker = CircuitBreaker()
        self.attempts = 0
        self.failures = 0
        self.last_error = ""
        self._qualified_infos: dict[ModelInfo, ModelInfo] = {}
        self._waiting: set[asyncio.Future[None]] = set()

    def __repr__(self) -> str:
        return f"Provider({self.id!r}, {len(self.models)} models, priority={self.priority})"

    def use_default_prices(self, prices: tuple[float, float]) -> None:
        """Use prices for the models whose price is unknown; `Services` knows them from `Budget.DefaultPrices`."""
        self.default_prices = prices
        self._qualified_infos.clear()

    def health(self, now: float) -> ProviderHealth:
        """Return whether the provider is available at `now` (monotonic seconds), and if not, why."""
        if not self.active:
            return "inactive"
        if self.keys is not None and self.keys.is_exhausted:
            return "no_keys"
        breaker = self.breaker
        return "active" if breaker.probe_at is None or breaker.allows_call(now) else "benched"

    def qualify_info(self, info: ModelInfo) -> ModelInfo:
        """Return the model's facts with this provider's id and default prices; always the same object for the same
        model.
        """
        found = self._qualified_infos.get(info)
        if found is None:
            needs_price = info.prices is None and info.hosting != "local"
            prices = self.default_prices if needs_price else info.prices
            found = self._qualified_infos[info] = replace(info, provider=self.id, prices=prices)
        return found

    def model_infos(self) -> "list[ModelInfo]":
        """Return the facts of its models, as budgets and accounting use them."""
        return [self.info_of(model) for model in self.models]

    @property
    def has_unknown_prices(self) -> bool:
        """Whether the price of a model that does not run locally is unknown."""
        if self.default_prices is not None:
            return False
        for model in self.models:
            info = model.info
            if info.prices is None and info.hosting != "local":
                return True
        return False

    def info_of(self, model: Model) -> ModelInfo:
        """Return the facts of one of its models under this provider's id, which budgets and accounting use."""
        info = model.info
        return info if info.provider == self.id and self.default_prices is None else self.qualify_info(info)

    def statistics(self, now: float) -> ProviderStatistics:
        """Return health, keys and counts since the process started: attempts, failures, and the last error code."""
        keys = self.keys.statistics() if self.keys is not None else None
        available = max(self.breaker.seconds_until_probe(now), keys.available_in_seconds if keys is not None else 0.0)
        return ProviderStatistics(
            self.id,
            self.health(now),
            self.attempts,
            self.failures,
            self.last_error,
            keys,
            self.breaker.state(now),
            available,
        )

    def reset(self) -> None:
        """End the cool-downs of the keys, enable the disabled ones and close the circuit; the counters stay."""
        self.breaker.reset()
        if self.keys is not None:
            self.keys.reset()
        for waiting in self._waiting:  # calls that wait before they try again
            if not waiting.done():
                waiting.set_result(None)

    async def wait_unless_reset(self, wait: Coroutine[Any, Any, None]) -> None:
        """Await `wait`, at most until an operator resets the provider."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        task = asyncio.ensure_future(wait)
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
        finally:
            self._waiting.discard(waiting)
            waiting.cancel()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


NEVER = float("inf")
"""Seconds until a candidate can be called whose keys were all rejected."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model of a provider that may be called."""

    provider: Provider
    model: Model

    def seconds_until_usable(self, now: float) -> float:
        """Return the seconds until a call makes sense: a key is available and the circuit is not open; else NEVER."""
        keys, paused = self.provider.keys, self.provider.breaker.seconds_until_probe(now)
        if keys is None:
            return paused
        return NEVER if keys.is_exhausted else max(paused, keys.seconds_until_available(self.model.info.name))

    @property
    def info(self) -> ModelInfo:
        """The model's facts under the id of its provider, which budgets and accounting use."""
        provider, info = self.provider, self.model.info
        # As `Provider.info_of`, without its call: every model call reads it several times.
        if info.provider == provider.id and provider.default_prices is None:
            return info
        return provider.qualify_info(info)
