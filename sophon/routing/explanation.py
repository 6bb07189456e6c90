"""Text that explains a routing decision to people."""

from sophon.learning.complexity import compute_tier
from sophon.routing.router import Routed
from sophon.settings.sections.routing import RoutingSettings


def format_route(routed: Routed, settings: RoutingSettings) -> str:
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
