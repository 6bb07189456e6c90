"""Capability routing: chooses the candidate models of a turn and their order."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sophon.chain.argument_checks import check_argument
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import NoProvider, NotFound
from sophon.events import RouteChosen
from sophon.messages import Message, Response
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.provider import Candidate, ProviderHealth
from sophon.routing.context_keys import REMAINING_COST
from sophon.routing.contract import Booster, RouteDecision, RouteRequest, RoutingStrategy
from sophon.routing.message_tags import MESSAGE_TAGS
from sophon.routing.strategies.priority import PriorityRouting
from sophon.turn.permissions import filter_permitted, find_routing_permissions

if TYPE_CHECKING:
    from sophon.routing.router import Routed

VISION: Final = "vision"
"""Capability of a model that sees images."""

HEALTH_REASONS: Mapping[ProviderHealth, str] = {
    "active": "eligible",
    "inactive": "not active",
    "benched": "circuit breaker open after failures",
    "no_keys": "all of its keys were rejected",
}


class CapabilityRouting:
    """Sets the turn's route: eligible providers (active, within budget, circuit breaker closed), ordered by `strategy`.

    Without a `strategy` it is that of the settings, `Routing.Strategy`. Then what was decided and why is on the context
    (`sophon.routing.context_keys.ROUTE`) and in the trace, and the model calls of the turn are observed
    (route_observation.py). A booster answers in place of the rest of the chain: with the strategy Intelligent, and for
    a message with the tag AGENT_BOOSTER_AVAILABLE (`sophon.routing.message_tags`).
    Behind ToolExecution it decides anew for each model call. With `is_stage` it is the published stage of clawft: the
    decisions of the strategy Priority, too, are on the context and in the trace, and observed, and boosters are asked
    of every message.

    For a message with pictures models that see go before others, unless the session, a plan step or an agent names a
    model.

    Raises NoProvider if no provider is eligible, or no model is permitted.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents", "Budget", "Classification")
    before = ("ContextWindow", "ToolFilter", "Planning")
    repeats_after = ("ToolExecution",)
    acts = {"turn": "router: answers by a booster where one may; else orders the models to ask, by Routing.Strategy"}

    def __init__(
        self,
        *,
        strategy: RoutingStrategy | None = None,
        is_stage: bool = False,
    ) -> None:
        check_argument("CapabilityRouting(strategy)", strategy, "route", "a strategy, such as StaticRouting('model')")
        self._strategy = strategy
        self._is_stage = is_stage

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        gateway = ctx.services.gateway
        eligible, excluded = gateway.candidates(), ctx.excluded_providers
        if excluded:
            eligible = [candidate for candidate in eligible if candidate.provider.id not in excluded]
        if not eligible:
            raise NoProvider(explain_no_provider(gateway, ctx.excluded_providers))
        is_plain = ctx.services.settings.routing.is_default and not self._is_stage and ctx.get(MESSAGE_TAGS) is None
        strategy = self._strategy or (PRIORITY if is_plain else None)
        if strategy is not None:
            hint = find_model_hint(ctx)
            if strategy is PRIORITY and hint is None and ctx.model is None:
                ctx.route = eligible  # what it would decide; nearly every turn
                await next(ctx)
                return
            decided = strategy.route(RouteRequest(ctx.text, _session_choice(ctx, gateway, eligible), hint), eligible)
            ctx.route = decided.candidates if isinstance(decided, RouteDecision) else decided
            await next(ctx)
            return
        # Lazy: only settings of routing need it.
        from sophon_middlewares.outer.capability_routing.route_observation import observe_calls

        routed = await route_turn(ctx, eligible, is_stage=self._is_stage)
        if routed.decision.answer is not None:
            ctx.messages.append(Message("assistant", routed.decision.answer))
            ctx.response = Response(routed.decision.answer, "stop")
            return
        async with observe_calls(ctx, routed):
            await next(ctx)


PRIORITY = PriorityRouting()


async def route_turn(ctx: Context, eligible: Sequence[Candidate], *, is_stage: bool = False) -> "Routed":
    """Ask the router and set the turn's route, its record on the context, and the trace. Raises NoProvider."""
    from sophon.routing.context_keys import MESSAGE_VECTOR, ROUTE, TASK_PROFILE
    from sophon.routing.router import RouteQuery  # lazy, as above

    services = ctx.services
    router, tags = services.learning.router, ctx.get(MESSAGE_TAGS)
    query = RouteQuery(
        ctx.text,
        _session_choice(ctx, services.gateway, eligible),
        find_model_hint(ctx),
        find_routing_permissions(ctx, uses_tiers=router.uses_tiers),
        ctx.get(REMAINING_COST),
        ctx.get(TASK_PROFILE),
        ctx.get(MESSAGE_VECTOR),
        _find_boosters(ctx),
        may_boost=not ctx.depth and not ctx.iteration and not ctx.resumed,
        asks_boosters=is_stage,
        tags=tags or (),
        strategy=services.settings.routing.strategy,
    )
    routed = await router.route(query, eligible, services.store)
    record, decision = routed.record, routed.decision
    ctx.put(TASK_PROFILE, routed.profile)
    ctx.put(ROUTE, record)
    if routed.vector is not None:
        ctx.put(MESSAGE_VECTOR, routed.vector)
    if ctx.has_listeners and (is_stage or record.strategy != "Priority" or decision.answer is not None):
        ctx.emit(
            RouteChosen(
                model=record.model,
                strategy=record.strategy,
                reason=record.reason,
                tier=record.tier,
                task_type=record.task_type,
                complexity=routed.profile.complexity,
                flags=record.flags,
            )
        )
    if not decision.candidates and decision.answer is None:
        raise NoProvider(f"no permitted model is available now ({decision.reason or 'Routing.Allow and Routing.Deny'})")
    ctx.route = decision.candidates
    return routed


def find_model_hint(ctx: Context) -> str | None:
    """Return the model hint of the plan's step or the sub-agent, else that of the agent that answers.

    Without one, a message with pictures asks for a model that sees.
    """
    hint = None
    if ctx.step is not None:
        hint = ctx.step.model_hint
    elif ctx.services.assistant.agents is not None:
        from sophon.turn.agent import find_turn_agent  # lazy: most hosts have no agents

        agent = find_turn_agent(ctx)
        hint = None if agent is None else agent.hint
    return hint or (VISION if has_pictures(ctx.messages) else None)


def has_pictures(messages: Sequence[Message]) -> bool:
    """Return whether the newest message of the user has images, or image files."""
    newest = next((each for each in reversed(messages) if each.role == "user"), None)
    return newest is not None and (bool(newest.images) or any(each.is_image for each in newest.attachments))


def _find_boosters(ctx: Context) -> list[Booster]:
    """Return the functions of the turn's tools that answer without a model, of those that the principal may use."""
    tools = [tool for tool in ctx.tools if tool.answer is not None]
    if not tools:
        return []
    return [tool.answer for tool in filter_permitted(ctx, tools) if tool.answer is not None]


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
