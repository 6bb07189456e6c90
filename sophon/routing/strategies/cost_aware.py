"""Cost-aware routing: the cheapest tier whose observed quality is good enough."""

import random
from collections.abc import Sequence

from sophon.routing.contract import RouteRequest
from sophon.routing.model_demotion import ModelDemotions
from sophon.routing.profile_of_request import profile_of
from sophon.routing.route_averages import RouteAverages, TierQuality
from sophon.routing.strategies.tiered import TieredRouting
from sophon.routing.tiers import Tier, TierChoice, TierLimits
from sophon.settings.sections.routing import QualitySettings, RoutingSettings


class CostAwareRouting(TieredRouting):
    """Chooses the cheapest permitted tier whose average quality for the task type is at least `MinQuality`.

    A tier with fewer than `MinSamples` turns is tried; if no tier is good enough, the best one is used. A share
    `Exploration` of the turns, drawn from a seeded generator, tries the tier below the chosen one, so that a tier that
    has become better is found again.
    """

    def __init__(
        self, settings: RoutingSettings, averages: RouteAverages, demotions: ModelDemotions | None = None
    ) -> None:
        super().__init__(settings, demotions)
        self._averages = averages
        self._random = random.Random(settings.seed)  # noqa: S311 - a choice between models is no secret

    def choose(self, request: RouteRequest, tiers: Sequence[Tier], limits: TierLimits) -> TierChoice:
        """See `TieredRouting.choose`."""
        kind, options = profile_of(request).task_type, self._settings.quality
        permitted = tiers[limits.lowest : limits.highest + 1]
        qualities = [self._averages.find_quality(tier.name, kind, options.min_samples) for tier in permitted]
        position, reason = choose_by_quality(qualities, [tier.name for tier in permitted], options)
        if position and not request.is_trial and self._random.random() < options.exploration:
            name = permitted[position - 1].name
            return TierChoice(limits.lowest + position - 1, (), f"{kind}: tier {name} is tried again")
        return TierChoice(limits.lowest + position, (), f"{kind}: {reason}")


def choose_by_quality(
    qualities: Sequence[TierQuality], names: Sequence[str], options: QualitySettings
) -> tuple[int, str]:
    """Return the position of the tier, the cheapest being 0, and the reason."""
    for position, (found, name) in enumerate(zip(qualities, names, strict=True)):
        if found.scored < options.min_samples:
            return position, f"tier {name} has {found.scored} of {options.min_samples} turns yet"
        if found.quality >= options.min_quality:
            return position, f"tier {name} has a quality of {found.quality:.2f}, which is good enough"
    best = max(range(len(names)), key=lambda position: qualities[position].quality)
    return best, f"no tier is good enough; {names[best]} is the best with {qualities[best].quality:.2f}"
