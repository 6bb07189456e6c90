"""Results of providers: their state, and the models that they have."""

from datetime import datetime, timedelta
from typing import NotRequired

from sophon._python.lazy_typed_dict import TypedDict
from sophon.models.gateway.circuit_breaker import CircuitState
from sophon.models.gateway.provider import Provider, ProviderHealth, ProviderStatistics


class ProviderView(TypedDict):
    """State of a provider; `available_at` is when it is called again, null if it is now."""

    provider: str
    health: ProviderHealth
    circuit: CircuitState
    keys: int
    keys_cooling: int
    keys_disabled: int
    available_at: str | None
    attempts: int
    failures: int
    last_error: str


class ProviderList(TypedDict):
    """The providers in order of priority, as this process knows them."""

    items: list[ProviderView]


class ModelView(TypedDict):
    """A model of a provider."""

    model: str
    context_window: int
    function_calling: bool
    capabilities: list[str]


class ProviderModels(TypedDict):
    """A provider with its models; how its keys and calls fare for operators."""

    provider: str
    health: ProviderHealth
    models: list[ModelView]
    circuit: NotRequired[CircuitState]
    keys: NotRequired[int]
    keys_cooling: NotRequired[int]
    keys_disabled: NotRequired[int]
    available_at: NotRequired[str | None]
    attempts: NotRequired[int]
    failures: NotRequired[int]
    last_error: NotRequired[str]


class ProviderModelsList(TypedDict):
    """The providers in order of priority, with their models."""

    items: list[ProviderModels]


def provider_to_json(statistics: ProviderStatistics, now: datetime) -> ProviderView:
    """Return a provider's state as JSON, for operators."""
    seconds, keys = statistics.available_in_seconds, statistics.keys
    return {
        "provider": statistics.id,
        "health": statistics.health,
        "circuit": statistics.circuit,
        "keys": keys.total if keys is not None else 0,
        "keys_cooling": keys.cooling if keys is not None else 0,
        "keys_disabled": keys.disabled if keys is not None else 0,
        "available_at": (now + timedelta(seconds=seconds)).isoformat() if seconds else None,
        "attempts": statistics.attempts,
        "failures": statistics.failures,
        "last_error": statistics.last_error,
    }


def provider_models_to_json(provider: Provider, statistics: ProviderStatistics, now: datetime | None) -> ProviderModels:
    """Return a provider with its models as JSON; with `now`, for operators, with its whole state."""
    found: ProviderModels = {
        "provider": provider.id,
        "health": statistics.health,
        "models": [
            {
                "model": model.info.name,
                "context_window": model.info.context_window,
                "function_calling": model.info.function_calling,
                "capabilities": sorted(model.info.capabilities),
            }
            for model in provider.models
        ],
    }
    return found if now is None else {**found, **provider_to_json(statistics, now)}
