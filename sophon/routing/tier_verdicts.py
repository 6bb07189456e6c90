"""Verdicts on the tiers for one message: what the judged answers to similar messages say. Source: clawft."""

from collections.abc import Mapping, Sequence

from sophon.learning.contract import CachedPolicy
from sophon.learning.policy_cache import SIMILARITY_THRESHOLD
from sophon.routing.model_tiers import Tier, TierChoice, TierLimits


def find_verdicts(near: Sequence[CachedPolicy]) -> dict[str, CachedPolicy]:
    """Return the verdict on each tier: the latest of the similar decisions; they come latest first."""
    found: dict[str, CachedPolicy] = {}
    for each in near:
        if each.similarity > SIMILARITY_THRESHOLD:
            found.setdefault(each.tier, each)
    return found


def choose_praised(
    verdicts: Mapping[str, CachedPolicy], tiers: Sequence[Tier], limits: TierLimits
) -> TierChoice | None:
    """Return the cheapest permitted tier that answered a similar message well; None if there is none."""
    for position in range(limits.lowest, limits.highest + 1):
        verdict = verdicts.get(tiers[position].name)
        if verdict is not None and not verdict.is_poor:
            name, similarity = tiers[position].name, verdict.similarity
            reason = f"a message of similarity {similarity:.2f} was answered well: tier {name}"
            return TierChoice(position, ("policy",), reason)
    return None


def raise_blamed(
    choice: TierChoice, verdicts: Mapping[str, CachedPolicy], tiers: Sequence[Tier], limits: TierLimits
) -> TierChoice:
    """Return the choice, or the tier above the highest one that answered a similar message badly, if it is higher.

    A tier that is not permitted is not reached.
    """
    blamed = [position for position, tier in enumerate(tiers) if tier.name in verdicts and verdicts[tier.name].is_poor]
    if not blamed:
        return choice
    worst = max(blamed)
    position = min(worst + 1, limits.highest)
    if position <= choice.position:
        return choice
    similarity, name = verdicts[tiers[worst].name].similarity, tiers[worst].name
    limit = "" if position > worst else ", and no higher one is permitted"
    reason = f"tier {name} answered a message of similarity {similarity:.2f} badly{limit}: tier {tiers[position].name}"
    return TierChoice(position, (*choice.flags, "blamed"), reason)
