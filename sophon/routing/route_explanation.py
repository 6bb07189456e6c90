"""Text that explains a routing decision to people."""

from collections.abc import Sequence

from sophon.learning.complexity_tiers import compute_tier
from sophon.models.gateway.provider import Candidate
from sophon.routing.contract import Booster
from sophon.routing.router import Routed, RouteQuery, Router
from sophon.settings import Settings
from sophon.settings.sections.routing import RoutingSettings
from sophon.stores.contract import Store


async def explain_route(
    text: str,
    principal: str,
    *,
    settings: Settings,
    router: Router,
    is_operator: bool,
    boosters: Sequence[Booster],
    candidates: Sequence[Candidate],
    store: Store,
) -> str:
    """Return what `router` would choose for a message of a principal and why; nothing is asked and nothing changes."""
    level = settings.permissions.level_of(principal, channel="local", is_operator=is_operator)
    query = RouteQuery(
        text,
        permissions=settings.permissions.routing_of(principal, level, uses_tiers=router.uses_tiers),
        boosters=boosters,
        may_boost=True,
        asks_boosters=settings.chain.name == "clawft",
        is_trial=True,
        strategy=settings.routing.strategy,
    )
    return _format_route(await router.route(query, candidates, store), router.settings)


def _format_route(routed: Routed, settings: RoutingSettings) -> str:
    """Return one line for each of: task type, complexity, strategy, reason, models in the order they are asked."""
    profile, record, decision = routed.profile, routed.record, routed.decision
    keywords = f" ({', '.join(profile.keywords)})" if profile.keywords else ""
    lines = [
        f"task type   {profile.task_type}{keywords}",
        f"complexity  {profile.complexity:.2f}, confidence {profile.confidence:.2f}",
        f"strategy    {record.strategy}",
        f"reason      {record.reason or 'by priority'}",
    ]
    if not record.tier:
        tier = compute_tier(profile.complexity, confidence=profile.confidence, border=settings.tier_border)
        lines.append(f"tier        {tier} of 3 by complexity, which {record.strategy} does not use")
    else:
        lines.append(f"tier        {record.tier}{''.join(f', {flag}' for flag in record.flags)}")
    if decision.answer is not None:
        lines.append(f"answer      {decision.answer}")
    else:
        models = ", ".join(candidate.info.id for candidate in decision.candidates)
        lines.append(f"models      {models or 'none'}")
    return "\n".join(lines)
