"""Cost-aware routing: the cheapest tier that is known to be good enough."""

import random
from collections.abc import Sequence

from sophon.routing.contract import RouteRequest
from sophon.routing.demotion_circuit_breakers import ModelDemotions
from sophon.routing.model_tiers import Tier, TierChoice, TierLimits
from sophon.routing.profile_of_request import profile_of
from sophon.routing.route_averages import MIN_SAMPLES, RouteAverages, TierQuality
from sophon.routing.strategies.tiered import TieredRouting
from sophon.routing.tier_model_order import SEED
from sophon.routing.tier_verdicts import find_verdicts, raise_blamed
from sophon.settings.sections.routing import QualitySettings, RoutingSettings


class CostAwareRouting(TieredRouting):
    """Chooses the cheapest permitted tier whose average quality for the task type is at least `MinQuality`.

    A tier is known from `MIN_SAMPLES` judged answers on; without such tiers the choice is that of the complexity, and a
    known tier that is not good enough gives way to the next one above. A share `Exploration` of the turns, drawn from a
    seeded generator, tries the tier below a known one, so that a tier that has become better is found again. No tier
    is used that answered a similar message badly, while a higher one is permitted.
    """

    def __init__(
        self, settings: RoutingSettings, averages: RouteAverages, demotions: ModelDemotions | None = None
    ) -> None:
        super().__init__(settings, demotions)
        self._averages = averages
        self._random = random.Random(SEED)  # noqa: S311 - a choice between models is no secret

    def choose(self, request: RouteRequest, tiers: Sequence[Tier], limits: TierLimits) -> TierChoice:
        """See `TieredRouting.choose`."""
        by_complexity = super().choose(request, tiers, limits)
        if by_complexity.position > limits.highest:  # escalated
            return by_complexity
        kind, options = profile_of(request).task_type, self._settings.quality
        permitted = tiers[limits.lowest : limits.highest + 1]
        qualities = [self._averages.find_quality(tier.name, kind) for tier in permitted]
        names = [tier.name for tier in permitted]
        position, reason = choose_by_quality(by_complexity.position - limits.lowest, qualities, names, options)
        is_known = qualities[position].scored >= MIN_SAMPLES
        if position and is_known and not request.is_trial and self._random.random() < options.exploration:
            position, reason = position - 1, f"tier {names[position - 1]} is tried again"
        flags = by_complexity.flags if not reason else ()
        choice = TierChoice(limits.lowest + position, flags, f"{kind}: {reason}" if reason else by_complexity.reason)
        verdicts = find_verdicts(request.policies)
        return raise_blamed(choice, verdicts, tiers, limits)


def choose_by_quality(
    position: int, qualities: Sequence[TierQuality], names: Sequence[str], options: QualitySettings
) -> tuple[int, str]:
    """Return the position of the tier, the cheapest being 0, and the reason; "" leaves it at `position`."""
    is_known = [each.scored >= MIN_SAMPLES for each in qualities]
    is_good = [known and each.quality >= options.min_quality for known, each in zip(is_known, qualities, strict=True)]
    for cheaper in range(position + 1):
        if is_good[cheaper]:
            return cheaper, f"tier {names[cheaper]} has {_describe(qualities[cheaper])}, which is good enough"
    if not is_known[position]:
        return position, ""
    for higher in range(position + 1, len(names)):
        if is_good[higher] or not is_known[higher]:
            return higher, f"tier {names[position]} has {_describe(qualities[position])}: tier {names[higher]}"
    best = max(range(len(names)), key=lambda each: qualities[each].quality if is_known[each] else 0.0)
    return best, f"no tier is good enough; {names[best]} is the best with {_describe(qualities[best])}"


def _describe(found: TierQuality) -> str:
    return f"a quality of {found.quality:.2f} by {found.scored} judged answers"
