"""Tiered routing: the tier by complexity within permissions and limits, then the model within the tier."""

from collections.abc import Sequence

from sophon.learning.complexity_tiers import LOW_CONFIDENCE
from sophon.models.capabilities import has_capability
from sophon.models.gateway.provider import Candidate
from sophon.routing.contract import RouteDecision, RouteRequest
from sophon.routing.demotion_circuit_breakers import ModelDemotions
from sophon.routing.model_directory import remove_duplicates
from sophon.routing.model_tiers import Tier, TierChoice, TierLimits, choose_tier, find_tier_limits, fit_cost
from sophon.routing.profile_of_request import profile_of
from sophon.routing.tier_catalog import TierCatalog, estimate_cost
from sophon.routing.tier_model_order import ModelSelector
from sophon.settings.sections.routing import RoutingSettings


class TieredRouting:
    """Chooses a tier by complexity; see `choose_tier`, `fit_cost` and `ModelSelector` for the rules.

    After the tier's models come those of the cheaper tiers, then the fallback model where it is permitted. A tier whose
    models are demoted or not available is left out: a cheaper one is used, else a permitted one above. A model that the
    session chose is used if it is in a permitted tier; one that is in no tier, if every tier is permitted.
    """

    def __init__(self, settings: RoutingSettings, demotions: ModelDemotions | None = None) -> None:
        self._settings = settings
        self._catalog = TierCatalog(settings)
        self._selector = ModelSelector(settings.selection)
        self._demotions = demotions

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> RouteDecision:
        """See `RoutingStrategy`. Without a model in a permitted tier there are no candidates."""
        tiers = self._catalog.list_tiers(request.models)
        limits = self._find_limits(request)
        found = [self._catalog.find_candidates(tier, request.models) for tier in tiers]
        usable = [self._remove_demoted(candidates, request.now) for candidates in found]
        own = self._route_to_choice(request, tiers, usable, found, limits)
        if own is not None:
            return own
        choice = self.choose(request, tiers, limits)
        costs = [estimate_cost(tier, candidates) for tier, candidates in zip(tiers, found, strict=True)]
        choice = fit_cost(choice, costs, self._catalog.names, request.remaining_cost)
        choice = _skip_empty(choice, usable, tiers, limits)
        if not usable[choice.position]:
            # Everything is demoted: a model that may fail is better than none.
            usable, choice = found, _skip_empty(choice, found, tiers, limits)
        return self._decide(request, choice, tiers, usable, limits)

    def choose(self, request: RouteRequest, tiers: Sequence[Tier], limits: TierLimits) -> TierChoice:
        """Return the tier, before limits of cost and demoted models are looked at."""
        profile = profile_of(request)
        is_unsure = profile.confidence < LOW_CONFIDENCE
        return choose_tier(tiers, profile.complexity, limits, is_unsure=is_unsure)

    def _find_limits(self, request: RouteRequest) -> TierLimits:
        settings, task = self._settings, self._settings.task_types.get(profile_of(request).task_type)
        return find_tier_limits(
            request.permissions,
            self._catalog.names,
            max_escalated_tiers=settings.escalation.max_tiers if settings.escalation.enabled else 0,
            lowest=task.tier if task is not None else None,
            highest=task.max_tier if task is not None else None,
        )

    def _decide(
        self,
        request: RouteRequest,
        choice: TierChoice,
        tiers: Sequence[Tier],
        usable: Sequence[Sequence[Candidate]],
        limits: TierLimits,
    ) -> RouteDecision:
        name = tiers[choice.position].name
        first = self._selector.order(name, usable[choice.position], is_trial=request.is_trial)
        if (hint := request.capability) is not None:
            first.sort(key=lambda each: not has_capability(each.info, hint))
        cheaper = [each for position in range(choice.position - 1, -1, -1) for each in usable[position]]
        candidates = remove_duplicates([*first, *cheaper, *self._find_fallback(request, tiers, limits)])
        reason = choice.reason if first else f"{choice.reason}; none of its models is available"
        homes = {each.info.id: tiers[position].name for position in range(choice.position) for each in usable[position]}
        chosen = {each.info.id for each in first}
        others = {model: tier for model, tier in homes.items() if model not in chosen}
        return RouteDecision(candidates, reason, name, choice.flags, model_tiers=others)

    def _find_fallback(self, request: RouteRequest, tiers: Sequence[Tier], limits: TierLimits) -> list[Candidate]:
        name = self._settings.fallback_model
        found = request.models.find(name) if name is not None else None
        return [found] if found is not None and self._permits(found, request, tiers, limits) else []

    def _route_to_choice(
        self,
        request: RouteRequest,
        tiers: Sequence[Tier],
        usable: Sequence[Sequence[Candidate]],
        found: Sequence[Sequence[Candidate]],
        limits: TierLimits,
    ) -> RouteDecision | None:
        own = request.session_choice
        if own is None or not request.models.permits(own) or not self._permits(own, request, tiers, limits):
            return None
        names = (tier.name for tier, group in zip(tiers, found, strict=True) if _contains(group, own))
        name = next(names, "")
        others = [each for position in range(limits.highest, -1, -1) for each in usable[position]]
        return RouteDecision(remove_duplicates([own, *others]), "the session's model", name)

    def _permits(self, candidate: Candidate, request: RouteRequest, tiers: Sequence[Tier], limits: TierLimits) -> bool:
        homes = [
            position
            for position, tier in enumerate(tiers)
            if _contains(self._catalog.find_candidates(tier, request.models), candidate)
        ]
        return min(homes) <= limits.highest if homes else limits.highest == len(tiers) - 1

    def _remove_demoted(self, candidates: list[Candidate], now: float) -> list[Candidate]:
        demotions = self._demotions
        if demotions is None:
            return candidates
        return [each for each in candidates if demotions.allows(each.info.id, now)]


def _skip_empty(
    choice: TierChoice, usable: Sequence[Sequence[Candidate]], tiers: Sequence[Tier], limits: TierLimits
) -> TierChoice:
    """Return the choice, or the nearest tier with models: a cheaper one first, else a permitted one above."""
    if usable[choice.position]:
        return choice
    above = () if "budget" in choice.flags else range(choice.position + 1, limits.highest + 1)
    for position in (*range(choice.position - 1, -1, -1), *above):
        if usable[position]:
            name, other = tiers[choice.position].name, tiers[position].name
            reason = f"{choice.reason}; tier {name} is demoted: tier {other}"
            return TierChoice(position, (*choice.flags, "demoted"), reason)
    return choice


def _contains(candidates: Sequence[Candidate], wanted: Candidate) -> bool:
    return any(each.model is wanted.model and each.provider is wanted.provider for each in candidates)
