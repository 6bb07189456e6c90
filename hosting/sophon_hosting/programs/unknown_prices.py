"""Models of unknown price: what `sophon doctor` and the start of a host say about them."""

from collections.abc import Iterator
from typing import NamedTuple

from sophon.models.blind_cost_limits import CostLimit, find_blind_cost_limit
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo
from sophon.services import Services

PRICE_FIX = "set Prices of the provider, or Budget.DefaultPrices, in USD per million tokens (0 if it is free)"


class UnknownPrice(NamedTuple):
    """A model without a known price, and the limit on the cost under which it is refused, or None."""

    model: ModelInfo
    limit: CostLimit | None

    def __str__(self) -> str:
        if self.limit is not None:
            return f"the price of {self.model} is unknown, so it is refused while {self.limit.setting} is set"
        return f"the price of {self.model} is unknown: its cost is shown as unknown, and no limit on the cost is set"


def find_unknown_prices(services: Services) -> Iterator[UnknownPrice]:
    """Yield the models of active providers that cost an unknown amount, or that a limit on the cost refuses."""
    providers: tuple[Provider, ...] = services.gateway.providers
    for model in (info for provider in providers if provider.active for info in provider.model_infos()):
        limit = find_blind_cost_limit(model, services.settings.budget) or _find_blind_person_limit(model, services)
        if limit is not None or model.is_cost_unknown:
            yield UnknownPrice(model, limit)


def _find_blind_person_limit(model: ModelInfo, services: Services) -> CostLimit | None:
    """Return the limit of a person's cost under which a model of unknown price is refused, the lowest one."""
    if model.prices is not None or model.hosting == "local":
        return None
    found = list(services.settings.list_cost_limits())
    return CostLimit(*min(found, key=lambda each: each[1])) if found else None


def list_price_warnings(services: Services) -> list[str]:
    """Return a line for each such model, and one that says what to do, for the start of a host."""
    warnings = [f"Warning: {each}" for each in find_unknown_prices(services)]
    return [*warnings, f"  {PRICE_FIX}"] if warnings else []
