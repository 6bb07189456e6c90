"""Tier catalog: the configured tiers, or two that are made of the models' prices, with their models and costs."""

from collections.abc import Sequence

from sophon.models.gateway.provider import Candidate
from sophon.routing.model_directory import ModelDirectory
from sophon.routing.model_tiers import Tier, tiers_from_settings
from sophon.routing.tier_model_order import cost_per_1k_tokens, price_rank
from sophon.settings.sections.routing import DERIVED_TIERS, RoutingSettings


class TierCatalog:
    """Returns the tiers and finds their models among those that may be used."""

    def __init__(self, settings: RoutingSettings) -> None:
        self._border = settings.tier_border
        self._tiers = tiers_from_settings(settings.tiers, settings.tier_border)
        self.names = settings.tier_names()

    def list_tiers(self, models: ModelDirectory) -> Sequence[Tier]:
        """Return the tiers, the cheapest first."""
        return self._tiers or derive_tiers(models.all(), self._border)

    def find_candidates(self, tier: Tier, models: ModelDirectory) -> list[Candidate]:
        """Return the models of a tier that may be used, the preferred one first, each once."""
        found = (models.find(name) for name in tier.models)
        return list({each.info.id: each for each in found if each is not None}.values())


def derive_tiers(candidates: Sequence[Candidate], border: float) -> tuple[Tier, ...]:
    """Return a tier of the cheapest model, and one of the others in their order; the same model if there is one only.

    A model of unknown price counts as the most expensive one.
    """
    low, high = DERIVED_TIERS
    if not candidates:
        return (Tier(low, (), 0.0, border), Tier(high, (), border, 1.0))
    cheapest = min(candidates, key=lambda each: price_rank(each.info))
    others = [each.info.id for each in candidates if each is not cheapest] or [cheapest.info.id]
    return (Tier(low, (cheapest.info.id,), 0.0, border), Tier(high, tuple(others), border, 1.0))


def estimate_cost(tier: Tier, candidates: Sequence[Candidate]) -> float | None:
    """Return the USD of 1,000 tokens: the configured ones, else those of the tier's first model; None if unknown."""
    if tier.cost_per_1k is not None:
        return tier.cost_per_1k
    return cost_per_1k_tokens(candidates[0].info) if candidates else None
