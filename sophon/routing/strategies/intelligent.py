"""Intelligent routing: the tier of a similar earlier message, then that of the complexity."""

from collections.abc import Sequence

from sophon.routing.contract import RouteRequest
from sophon.routing.model_tiers import Tier, TierChoice, TierLimits
from sophon.routing.strategies.tiered import TieredRouting
from sophon.routing.tier_verdicts import choose_praised, find_verdicts, raise_blamed


class IntelligentRouting(TieredRouting):
    """Uses the tier of a similar message that was answered well, then that of the complexity.

    The last one is at least the tier above one that answered a similar message badly. An earlier tier that the person
    may not use is ignored. With this strategy the router asks the boosters of every message first.
    """

    def choose(self, request: RouteRequest, tiers: Sequence[Tier], limits: TierLimits) -> TierChoice:
        """See `TieredRouting.choose`."""
        verdicts = find_verdicts(request.policies)
        praised = choose_praised(verdicts, tiers, limits)
        return praised or raise_blamed(super().choose(request, tiers, limits), verdicts, tiers, limits)
