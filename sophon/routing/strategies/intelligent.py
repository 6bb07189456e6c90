"""Intelligent routing: a booster that needs no model, the tier of a similar earlier message, then complexity."""

import logging
from collections.abc import Callable, Sequence
from typing import cast

from sophon.models.gateway.provider import Candidate
from sophon.routing.contract import Booster, RouteDecision, RouteRequest
from sophon.routing.model_demotion import ModelDemotions
from sophon.routing.strategies.tiered import TieredRouting
from sophon.routing.tiers import Tier, TierChoice, TierLimits
from sophon.settings.sections.routing import RoutingSettings

log = logging.getLogger("sophon")

BOOSTER_TIER = "booster"
"""Name of the tier of messages that are answered without a model. Source: reference/clawft.md 3.8."""


class IntelligentRouting(TieredRouting):
    """Asks the boosters, then uses the tier of a similar message that was answered well, then that of the complexity.

    Tools of the turn that have an `answer` are boosters, too, and asked first. An earlier tier that the person may not
    use is ignored. A booster that fails is named once and not called again.
    """

    def __init__(
        self, settings: RoutingSettings, demotions: ModelDemotions | None = None, boosters: Sequence[Booster] = ()
    ) -> None:
        super().__init__(settings, demotions)
        self._boosters = tuple(boosters)
        self._broken: list[Booster] = []

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> RouteDecision:
        """See `RoutingStrategy`."""
        if request.may_boost:
            for booster in (*request.boosters, *self._boosters):
                answer = self._ask(booster, request.text) if booster not in self._broken else None
                if answer is not None:
                    name = getattr(booster, "__name__", type(booster).__name__)
                    return RouteDecision((), f"answered by {name} without a model", BOOSTER_TIER, answer=answer)
        return super().route(request, eligible)

    def choose(self, request: RouteRequest, tiers: Sequence[Tier], limits: TierLimits) -> TierChoice:
        """See `TieredRouting.choose`."""
        policy = request.policy
        if policy is not None and policy.similarity > self._settings.min_similarity:
            for position in range(limits.lowest, limits.highest + 1):
                if tiers[position].name == policy.tier:
                    reason = f"a message of similarity {policy.similarity:.2f} was answered well: tier {policy.tier}"
                    return TierChoice(position, ("policy",), reason)
        return super().choose(request, tiers, limits)

    def _ask(self, booster: Booster, text: str) -> str | None:
        asked = cast(Callable[[str], object], booster)  # it is code of the user, which may return anything
        try:
            answer = asked(text)
        except Exception:
            log.exception("the booster %r failed and is not called again", booster)
            self._broken.append(booster)
            return None
        if answer is None or isinstance(answer, str):
            return answer or None
        log.error("the booster %r returned %s, not a text, and is not called again", booster, type(answer).__name__)
        self._broken.append(booster)
        return None
