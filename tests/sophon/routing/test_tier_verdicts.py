"""What judged answers to similar messages say of the tiers, and what CostAware makes of known qualities."""

from sophon.learning.contract import CachedPolicy
from sophon.routing.model_tiers import Tier, TierChoice, TierLimits
from sophon.routing.route_averages import TierQuality
from sophon.routing.strategies.cost_aware import choose_by_quality
from sophon.routing.tier_verdicts import choose_praised, find_verdicts, raise_blamed
from sophon.settings.sections.routing import QualitySettings
from tests.tables import table

NAMES = ("low", "middle", "high")
TIERS = tuple(Tier(name, (), 0.0, 1.0) for name in NAMES)
ALL = TierLimits(2)


def said(tier: str, *, good: bool, similarity: float = 0.9) -> CachedPolicy:
    return CachedPolicy(tier, "m", 0.9 if good else 0.1, similarity, is_poor=not good)


@table(
    ("near", "limits", "position"),
    [
        ([], ALL, 0),
        ([said("low", good=False)], ALL, 1),
        ([said("low", good=False), said("middle", good=False)], ALL, 2),
        ([said("high", good=False)], ALL, 2),  # there is none above
        ([said("low", good=False)], TierLimits(0), 0),  # nor a permitted one
        ([said("low", good=True), said("low", good=False)], ALL, 0),  # the latest is first
        ([said("low", good=False), said("low", good=True)], ALL, 1),
        ([said("low", good=False, similarity=0.85)], ALL, 0),
        ([said("gone", good=False)], ALL, 0),
    ],
)
def test_blame_raises_the_tier_and_later_praise_lowers_it(
    near: list[CachedPolicy], limits: TierLimits, position: int
) -> None:
    found = raise_blamed(TierChoice(0), find_verdicts(near), TIERS, limits)
    assert found.position == position
    assert ("blamed" in found.flags) == (position > 0)
    assert ("no higher one is permitted" in found.reason) == (position > 0 and near[0].tier == "high")


def test_blame_of_a_cheap_tier_changes_nothing_for_a_message_that_gets_a_dear_one() -> None:
    choice = TierChoice(2, (), "complexity")
    assert raise_blamed(choice, find_verdicts([said("low", good=False)]), TIERS, ALL) is choice


def test_the_cheapest_permitted_tier_that_was_praised_is_chosen() -> None:
    verdicts = find_verdicts([said("high", good=True), said("middle", good=True), said("low", good=False)])
    found = choose_praised(verdicts, TIERS, ALL)
    assert found is not None
    assert (found.position, found.flags) == (1, ("policy",))
    assert choose_praised(verdicts, TIERS, TierLimits(0)) is None


@table(
    ("position", "qualities", "chosen"),
    [
        (1, [(0.0, 0), (0.0, 0), (0.0, 0)], 1),  # nothing is known
        (1, [(0.9, 4), (0.9, 4), (0.9, 9)], 1),  # too little is known
        (1, [(0.9, 5), (0.9, 5), (0.9, 5)], 0),
        (1, [(0.5, 5), (0.9, 5), (0.0, 0)], 1),
        (1, [(0.5, 5), (0.5, 5), (0.0, 0)], 2),  # up to what is not known to be bad
        (0, [(0.5, 5), (0.6, 5), (0.9, 5)], 2),
        (0, [(0.5, 5), (0.6, 5), (0.4, 5)], 1),  # none is good enough: the best
        (1, [(0.5, 5), (0.0, 0), (0.0, 0)], 1),
    ],
)
def test_cost_aware_leaves_the_tier_of_the_complexity_only_for_what_is_known(
    position: int, qualities: list[tuple[float, int]], chosen: int
) -> None:
    options = QualitySettings.defaults()
    found, reason = choose_by_quality(position, [TierQuality(*each) for each in qualities], NAMES, options)
    assert found == chosen
    assert bool(reason) == (qualities[position][1] >= 5 or found != position)
