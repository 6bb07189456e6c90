"""Capability routing: chooses the candidate models of a turn and their order."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import NoProvider, NotFound
from sophon.lazy_dataclass import dataclass
from sophon.models.capabilities import find_capable
from sophon.models.gateway.gateway import ModelGateway
from sophon.models.gateway.provider import Candidate, ProviderHealth

HEALTH_REASONS: Mapping[ProviderHealth, str] = {
    "active": "eligible",
    "inactive": "not active",
    "benched": "circuit breaker open after failures",
    "no_keys": "all of its keys were rejected",
}


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """Routing request: message text, the session's chosen model, and the capability hint of a plan step."""

    text: str
    session_choice: Candidate | None = None
    capability: str | None = None


class RoutingStrategy(Protocol):
    """Routing rule; `eligible` holds the default models of the eligible providers, in priority order."""

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates, first choice first; only eligible providers, never empty if `eligible` is not."""
        ...


class PriorityRouting:
    """Default strategy: the session's choice, else the first model with the capability, else by priority; then
    fallbacks.

    A fallback provider uses its first model with the capability, else its default one. A capability that no model has
    is ignored; case, space, dash and underscore in its name do not count. Source: reference/sophon.md 5.3, 5.12.
    """

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> list[Candidate]:
        """See `RoutingStrategy`."""
        if request.session_choice is not None:
            return _put_first(request.session_choice, eligible)
        if request.capability is None:
            return list(eligible)
        capable = [
            found for candidate in eligible if (found := find_capable(request.capability, candidate)) is not None
        ]
        if not capable:
            return list(eligible)
        able = {found.provider.id: found for found in capable}
        return _put_first(capable[0], [able.get(candidate.provider.id, candidate) for candidate in eligible])


class CapabilityRouting:
    """Sets the turn's route: eligible providers (active, within budget, circuit breaker closed), ordered by `strategy`.

    Raises NoProvider if no provider is eligible.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Budget")
    before = ("ContextWindow", "ToolFilter", "Planning")
    acts = {"turn": "orders the models to ask: the session's choice, a plan step's hint, then priority"}

    def __init__(self, *, strategy: RoutingStrategy | None = None) -> None:
        self._strategy = strategy or PriorityRouting()

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        gateway = ctx.services.gateway
        eligible, excluded = gateway.candidates(), ctx.excluded_providers
        if excluded:
            eligible = [candidate for candidate in eligible if candidate.provider.id not in excluded]
        if not eligible:
            raise NoProvider(explain_no_provider(gateway, ctx.excluded_providers))
        hint = ctx.step.model_hint if ctx.step else None
        ctx.route = self._strategy.route(
            RouteRequest(ctx.text, _session_choice(ctx, gateway, eligible), hint), eligible
        )
        await next(ctx)


def explain_no_provider(gateway: ModelGateway, excluded: dict[str, str]) -> str:
    """Return the error message for a turn without an eligible provider."""
    if not gateway.providers:
        return "no model provider is configured; add one to Providers, or set a key such as OPENAI_API_KEY"
    reasons = [f"{each.id}: {excluded.get(each.id) or HEALTH_REASONS[each.health]}" for each in gateway.statistics()]
    return f"no model provider is available now ({'; '.join(reasons)})"


def _session_choice(ctx: Context, gateway: ModelGateway, eligible: Sequence[Candidate]) -> Candidate | None:
    """Return the session's model while its provider is eligible; None for a model that no longer exists."""
    if ctx.model is None:
        return None
    try:
        wanted = gateway.find(ctx.model)
    except NotFound:
        return None
    return wanted if any(candidate.provider is wanted.provider for candidate in eligible) else None


def _put_first(chosen: Candidate, eligible: Sequence[Candidate]) -> list[Candidate]:
    return [chosen, *(candidate for candidate in eligible if candidate.provider is not chosen.provider)]
