"""Chooses which models are asked, and in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sophon.context import Context
from sophon.errors import NoProvider, NotFound
from sophon.models.gateway import ModelGateway
from sophon.models.provider import Candidate, Health
from sophon.pipeline import Next

WHY: Mapping[Health, str] = {
    "active": "it would answer",
    "inactive": "not active",
    "benched": "resting after failures",
    "no_keys": "all of its keys were refused",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of a route: the session's own choice, and the capability that a plan step hints at."""

    text: str
    model: Candidate | None = None
    capability: str | None = None


class RoutingStrategy(Protocol):
    """The rule; `eligible` are the default models of the providers that may be asked, in priority order."""

    def route(self, wish: Wish, eligible: Sequence[Candidate]) -> list[Candidate]:
        """The candidates to ask, the first choice first; only eligible providers, never empty if one is."""
        ...


class PriorityRouting:
    """The session's choice, else the first model with the capability, else priority; the others follow as fallback,
    each with its first model that has the capability, else with its default one.

    Source: reference/sophon.md 5.3, 5.12. A capability that nobody has is no reason to fail.
    """

    def route(self, wish: Wish, eligible: Sequence[Candidate]) -> list[Candidate]:
        """See `RoutingStrategy`."""
        if wish.model is not None:
            return _first(wish.model, eligible)
        if wish.capability is None:
            return list(eligible)
        capable = [found for candidate in eligible if (found := _capable(wish.capability, candidate)) is not None]
        if not capable:
            return list(eligible)
        able = {found.provider.id: found for found in capable}
        return _first(capable[0], [able.get(candidate.provider.id, candidate) for candidate in eligible])


class CapabilityRouting:
    """Puts the turn's route on the context: eligible providers (active, not over budget, breaker closed), ordered.

    `strategy` is the rule for the order. Raises NoProvider if nobody is eligible.
    """

    zone = "outer"
    unique = True
    after = ("SessionEvents", "Budget")
    before = ("ContextWindow", "ToolFilter", "Planning")
    acts = {"turn": "orders the models to ask: the session's choice, a plan step's hint, then priority"}

    def __init__(self, *, strategy: RoutingStrategy | None = None) -> None:
        self._strategy = strategy or PriorityRouting()

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        gateway = ctx.services.gateway
        eligible, excluded = gateway.candidates(), ctx.excluded
        if excluded:
            eligible = [candidate for candidate in eligible if candidate.provider.id not in excluded]
        if not eligible:
            raise NoProvider(why_nobody(gateway, ctx.excluded))
        hint = ctx.step.model_hint if ctx.step else None
        ctx.route = self._strategy.route(Wish(ctx.text, _choice(ctx, gateway, eligible), hint), eligible)
        await next(ctx)


def why_nobody(gateway: ModelGateway, excluded: dict[str, str]) -> str:
    """The sentence for a turn that nobody can answer."""
    if not gateway.providers:
        return "no model provider is configured; add one to Providers, or set a key such as OPENAI_API_KEY"
    reasons = [f"{each.id}: {excluded.get(each.id) or WHY[each.health]}" for each in gateway.statistics()]
    return f"no model provider can be asked now ({'; '.join(reasons)})"


def _choice(ctx: Context, gateway: ModelGateway, eligible: Sequence[Candidate]) -> Candidate | None:
    """The session's model, while its provider may be asked; a model that is gone leaves the choice to the rule."""
    if ctx.model is None:
        return None
    try:
        wanted = gateway.find(ctx.model)
    except NotFound:
        return None
    return wanted if any(candidate.provider is wanted.provider for candidate in eligible) else None


def _first(chosen: Candidate, eligible: Sequence[Candidate]) -> list[Candidate]:
    return [chosen, *(candidate for candidate in eligible if candidate.provider is not chosen.provider)]


def _capable(capability: str, candidate: Candidate) -> Candidate | None:
    for model in candidate.provider.models:
        if capability in model.info.capabilities:
            return Candidate(candidate.provider, model)
    return None
