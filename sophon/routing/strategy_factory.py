"""Strategy factory: the routing strategy of the settings, by name."""

from collections.abc import Sequence

from sophon.lazy_dataclass import dataclass
from sophon.routing.contract import Booster, RoutingStrategy
from sophon.routing.model_demotion import ModelDemotions
from sophon.routing.route_averages import RouteAverages
from sophon.routing.strategies.capability import CapabilityStrategy
from sophon.routing.strategies.cost_aware import CostAwareRouting
from sophon.routing.strategies.intelligent import IntelligentRouting
from sophon.routing.strategies.priority import PriorityRouting
from sophon.routing.strategies.static import StaticRouting
from sophon.routing.strategies.tiered import TieredRouting
from sophon.settings.sections.routing import RoutingSettings, StrategyName


@dataclass(frozen=True, slots=True)
class StrategyParts:
    """What the strategies share: observed averages, demoted models, and boosters."""

    averages: RouteAverages
    demotions: ModelDemotions | None = None
    boosters: Sequence[Booster] = ()


def create_strategy(
    name: StrategyName, settings: RoutingSettings, parts: StrategyParts, *, model: str | None = None
) -> RoutingStrategy:
    """Return a strategy; `model` is that of Static, by default `Routing.Model`."""
    if name == "Static":
        chosen = model or settings.model
        assert chosen is not None, "the settings require it"
        return StaticRouting(chosen, default_provider=settings.default_provider, fallback_model=settings.fallback_model)
    if name == "Capability":
        return CapabilityStrategy()
    if name == "Tiered":
        return TieredRouting(settings, parts.demotions)
    if name == "Intelligent":
        return IntelligentRouting(settings, parts.demotions, parts.boosters)
    if name == "CostAware":
        return CostAwareRouting(settings, parts.averages, parts.demotions)
    return PriorityRouting()
