"""Tiers of models, and the pure rules that choose one: by complexity, permissions, escalation and cost."""

from collections.abc import Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.security.authorization.permission_levels import Level
from sophon.settings.sections.permissions import LEVEL_TIERS, RoutingPermissions
from sophon.settings.sections.routing import RoutingSettings, TierSettings


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier: names of its models, the preferred one first; the complexity it is for, both ends included.

    `cost_per_1k` is in USD per 1,000 tokens; None if it is unknown.
    """

    name: str
    models: tuple[str, ...]
    low: float = 0.0
    high: float = 1.0
    cost_per_1k: float | None = None

    def covers(self, complexity: float) -> bool:
        """Return whether messages of this complexity belong to the tier."""
        return self.low <= complexity <= self.high


@dataclass(frozen=True, slots=True)
class TierChoice:
    """Chosen tier by its position, the cheapest being 0; what ruled the choice, and why."""

    position: int
    flags: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TierLimits:
    """Which tiers may be chosen: positions from `lowest` to `highest`, and, by escalation, up to `escalated`."""

    highest: int
    lowest: int = 0
    escalated: int = -1
    threshold: float = 1.0


def tiers_from_settings(entries: Sequence[TierSettings], border: float) -> tuple[Tier, ...]:
    """Return the tiers; without a range the first one is for a complexity up to the border, the others from there on.

    A single tier without a range is for every complexity.
    """
    found: list[Tier] = []
    for position, entry in enumerate(entries):
        whole = (0.0, 1.0) if len(entries) == 1 else (0.0, border) if position == 0 else (border, 1.0)
        low, high = entry.complexity or whole
        found.append(Tier(entry.name, entry.models, low, high, entry.cost_per_1k_tokens))
    return tuple(found)


def find_borders(settings: RoutingSettings) -> tuple[float, ...]:
    """Return the complexities from which a message gets another tier than the first one."""
    tiers = tiers_from_settings(settings.tiers, settings.tier_border)
    return tuple(sorted({tier.low for tier in tiers if tier.low > 0})) if tiers else (settings.tier_border,)


def find_tier_limits(
    permissions: RoutingPermissions,
    names: Sequence[str],
    *,
    max_escalated_tiers: int = 0,
    lowest: str | None = None,
    highest: str | None = None,
) -> TierLimits:
    """Return which tiers a person may get; `lowest` and `highest` are those of the task type.

    `max_escalated_tiers` is 0 while escalation is off. A tier of the permissions that does not exist permits the
    cheapest one only: nothing is allowed by a mistake.
    """
    cap = find_highest_tier(permissions, names)
    top = cap if highest is None else min(cap, names.index(highest))
    may_escalate = permissions.may_escalate and max_escalated_tiers > 0 and highest is None
    escalated = min(cap + max_escalated_tiers, len(names) - 1) if may_escalate else -1
    bottom = 0 if lowest is None else min(names.index(lowest), top)
    return TierLimits(top, bottom, escalated, permissions.escalation_threshold)


def find_highest_tier(permissions: RoutingPermissions, names: Sequence[str]) -> int:
    """Return the position of the highest tier that the permissions allow."""
    name = permissions.max_tier
    if name is not None:
        return names.index(name) if name in names else 0
    published = LEVEL_TIERS[permissions.level]
    if published in names:
        return names.index(published)
    return 0 if permissions.level is Level.ZERO_TRUST else len(names) - 1


def choose_tier(tiers: Sequence[Tier], complexity: float, limits: TierLimits, *, is_unsure: bool = False) -> TierChoice:
    """Return the tier for a complexity. Source: clawft, TieredRouter.

    Of the permitted tiers the highest one whose range contains the complexity; else, above the threshold of the
    escalation, the lowest higher tier that contains it; else the highest permitted one. `is_unsure` goes a tier up,
    within what is permitted.
    """
    permitted = range(limits.lowest, limits.highest + 1)
    matching = [position for position in permitted if tiers[position].covers(complexity)]
    text = f"complexity {complexity:.2f}"
    flags: tuple[str, ...] = ()
    if matching:
        position = matching[-1]
    else:
        higher = range(limits.highest + 1, limits.escalated + 1) if complexity > limits.threshold else ()
        covering = [each for each in higher if tiers[each].covers(complexity)]
        if covering:
            name = tiers[covering[0]].name
            return TierChoice(covering[0], ("escalated",), f"{text} is above the permitted tiers: escalated to {name}")
        position = limits.highest
    if is_unsure and position < limits.highest:
        position, flags = position + 1, ("unsure",)
        text = f"{text}, unsure, a tier up"
    return TierChoice(position, flags, f"{text}: tier {tiers[position].name}")


def fit_cost(
    choice: TierChoice, costs: Sequence[float | None], names: Sequence[str], remaining: float | None
) -> TierChoice:
    """Return the choice if the estimate of its tier is within the remaining USD, else the highest cheaper tier's.

    The estimate is the cost of 1,000 tokens. A tier of unknown cost never fits a limit. If none fits, the cheapest
    tier is chosen and flagged `constrained`: the limit itself still refuses what it cannot pay.
    """
    cost = costs[choice.position]
    if remaining is None or _fits(cost, remaining):
        return choice
    problem = (
        f"budget: {remaining:.4f} USD left" if cost is not None else "budget: a limit is set and its price unknown"
    )
    for position in range(choice.position - 1, -1, -1):
        if _fits(costs[position], remaining):
            reason = f"{choice.reason}; {problem}: tier {names[position]}"
            return TierChoice(position, (*choice.flags, "budget"), reason)
    reason = f"{choice.reason}; {problem}, and no tier fits: tier {names[0]}"
    return TierChoice(0, (*choice.flags, "budget", "constrained"), reason)


def _fits(cost: float | None, remaining: float) -> bool:
    return cost is not None and cost <= remaining
