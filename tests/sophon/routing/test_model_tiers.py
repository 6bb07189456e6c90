"""Which tier a message gets: complexity, permissions, escalation and cost."""

from sophon.learning.message_complexity import measure_confidence
from sophon.routing.demotion_circuit_breakers import ModelDemotions
from sophon.routing.model_tiers import (
    Tier,
    TierChoice,
    TierLimits,
    choose_tier,
    find_borders,
    find_highest_tier,
    fit_cost,
)
from sophon.routing.strategies.static import split_model_name
from sophon.security.authorization.permission_levels import Level
from sophon.settings.sections.permissions import PermissionsSettings, RoutingPermissions
from sophon.settings.sections.routing import RoutingSettings
from tests.tables import table

TIERS = (
    Tier("free", (), 0, 0.3),
    Tier("standard", (), 0.2, 0.6),
    Tier("premium", (), 0.5, 0.8),
    Tier("elite", (), 0.7),
)
NAMES = [tier.name for tier in TIERS]


@table(
    ("complexity", "limits", "is_unsure", "position", "flags"),
    [
        (0.1, TierLimits(3), False, 0, ()),
        (0.2, TierLimits(3), False, 1, ()),  # both ranges contain it: the highest one
        (0.3, TierLimits(3), False, 1, ()),
        (0.75, TierLimits(3), False, 3, ()),
        (0.9, TierLimits(1), False, 1, ()),
        (0.75, TierLimits(1, escalated=2, threshold=0.6), False, 2, ("escalated",)),
        (0.9, TierLimits(1, escalated=2, threshold=0.6), False, 1, ()),  # no tier within reach contains it
        (0.65, TierLimits(1, escalated=2, threshold=0.65), False, 1, ()),  # the threshold is not passed
        (0.1, TierLimits(3), True, 1, ("unsure",)),
        (0.1, TierLimits(0), True, 0, ()),
        (0.1, TierLimits(3, lowest=2), False, 3, ()),
    ],
)
def test_the_tier_is_that_of_the_complexity_within_what_is_permitted(
    complexity: float, limits: TierLimits, is_unsure: bool, position: int, flags: tuple[str, ...]
) -> None:
    found = choose_tier(TIERS, complexity, limits, is_unsure=is_unsure)
    assert (found.position, found.flags) == (position, flags)


@table(
    ("costs", "remaining", "position", "flags"),
    [
        ((0.1, 0.5, 2.0), None, 2, ()),
        ((0.1, 0.5, 2.0), 2.0, 2, ()),
        ((0.1, 0.5, 2.0), 1.0, 1, ("budget",)),
        ((0.1, 0.5, None), 9.0, 1, ("budget",)),  # an unknown cost is not zero
        ((0.1, 0.5, 2.0), 0.01, 0, ("budget", "constrained")),
    ],
)
def test_a_tier_that_a_limit_cannot_pay_is_replaced_by_a_cheaper_one(
    costs: tuple[float | None, ...], remaining: float | None, position: int, flags: tuple[str, ...]
) -> None:
    found = fit_cost(TierChoice(2), costs, ["a", "b", "c"], remaining)
    assert (found.position, found.flags) == (position, flags)


@table(
    ("level", "max_tier", "names", "highest"),
    [
        (Level.ZERO_TRUST, None, NAMES, 0),
        (Level.USER, None, NAMES, 1),
        (Level.ADMIN, None, NAMES, 3),
        (Level.ZERO_TRUST, None, ["small", "large"], 0),
        (Level.USER, None, ["small", "large"], 1),
        (Level.USER, "elite", NAMES, 3),
        (Level.ADMIN, "unknown", NAMES, 0),
    ],
)
def test_permissions_limit_the_tiers_and_an_unknown_one_permits_the_cheapest_only(
    level: Level, max_tier: str | None, names: list[str], highest: int
) -> None:
    assert find_highest_tier(RoutingPermissions(level, max_tier), names) == highest


@table(
    ("level", "expected"),
    [
        (Level.ZERO_TRUST, (False, 0.10, 2.0, 1024)),
        (Level.USER, (True, 5.0, 100.0, 4096)),
        (Level.ADMIN, (True, None, None, 16384)),
    ],
)
def test_the_published_limits_of_the_levels_are_defaults_where_tiers_are_used(level: Level, expected: object) -> None:
    settings = PermissionsSettings()
    found = settings.routing_of("ada", level, uses_tiers=True)
    limits = (found.daily_cost, found.monthly_cost, found.max_output_tokens)
    assert (found.may_escalate, *limits) == expected
    without = settings.routing_of("ada", level, uses_tiers=False)
    assert (without.daily_cost, without.monthly_cost, without.max_output_tokens) == (None, None, None)


def test_a_persons_limits_precede_those_of_everyone_and_of_the_level_and_zero_means_none() -> None:
    settings = PermissionsSettings.model_validate(
        {
            "Users": {"ada": {"DailyCost": 0}, "*": {"DailyCost": 1, "MonthlyCost": 9}},
            "Levels": {"User": {"MonthlyCost": 3}},
        }
    )
    ada, bob = (settings.routing_of(name, Level.USER, uses_tiers=False) for name in ("ada", "bob"))
    assert (ada.daily_cost, ada.monthly_cost) == (None, 9)
    assert (bob.daily_cost, bob.monthly_cost) == (1, 9)


@table(
    ("name", "full"),
    [("a/b", "a/b"), ("a/b/c", "a/b/c"), ("gpt", "openai/gpt")],
)
def test_a_static_model_without_a_slash_is_one_of_the_default_provider(name: str, full: str) -> None:
    assert split_model_name(name, "openai") == full


def test_the_published_constants_are_the_defaults() -> None:
    routing = RoutingSettings()
    assert (routing.tier_border, routing.default_provider) == (0.30, "openai")


def test_a_failing_model_is_left_out_probed_and_used_again() -> None:
    demotions = ModelDemotions()
    demoted = [demotions.record("m", now, seconds=1, has_failed=True) for now in (0, 10, 20)]
    assert demoted == [False, False, True]
    assert demotions.list_demoted(20) == {"m": 180}  # the last 120 of the 300 seconds have probes
    assert not demotions.allows("m", 199)
    demotions.start_call("m", 201)
    assert not demotions.allows("m", 202)  # one probe at a time
    demotions.abandon("m")
    demotions.start_call("m", 203)
    assert not demotions.record("m", 204, seconds=1, has_failed=True)
    assert not demotions.allows("m", 233)
    assert demotions.allows("m", 234)
    demotions.start_call("m", 234)
    demotions.record("m", 235, seconds=1, has_failed=False)
    assert demotions.allows("m", 235)
    assert demotions.list_demoted(235) == {}


def test_after_five_failed_probes_another_cool_down_begins() -> None:
    demotions = ModelDemotions()
    for now in (0, 1, 2):
        demotions.record("m", now, seconds=61, has_failed=False)  # slow counts as failed
    for probe in range(5):
        assert demotions.allows("m", 200 + 31 * probe)
        demotions.start_call("m", 200 + 31 * probe)
        demotions.record("m", 201 + 31 * probe, seconds=1, has_failed=True)
    assert not demotions.allows("m", 504)
    assert demotions.allows("m", 505)


@table(
    ("tiers", "borders"),
    [
        ([], (0.3,)),
        ([{"Name": "a", "Models": ["m"]}], ()),
        ([{"Name": "a", "Models": ["m"]}, {"Name": "b", "Models": ["m"]}], (0.3,)),
        (
            [
                {"Name": "a", "Models": ["m"], "Complexity": [0, 0.3]},
                {"Name": "b", "Models": ["m"], "Complexity": [0.2, 0.6]},
                {"Name": "c", "Models": ["m"], "Complexity": [0.5, 1]},
            ],
            (0.2, 0.5),
        ),
    ],
)
def test_the_borders_are_where_the_next_tier_begins(tiers: list[dict[str, object]], borders: tuple[float, ...]) -> None:
    assert find_borders(RoutingSettings.model_validate({"Tiers": tiers})) == borders


def test_the_confidence_is_low_shortly_below_the_next_border_only() -> None:
    assert measure_confidence(0.45, (0.2, 0.5)) < 0.5 < measure_confidence(0.3, (0.2, 0.5))
    assert measure_confidence(0.51, (0.2, 0.5)) == 1.0  # there is no tier above
    assert measure_confidence(0.19, (0.2, 0.5)) < measure_confidence(0.21, (0.2, 0.5))
    assert measure_confidence(0.0, (0.3,), ambiguity=1.0) < 0.5


def test_the_reason_of_a_tier_without_a_price_names_no_money() -> None:
    found = fit_cost(TierChoice(1, (), "complexity 0.50"), [0.1, None], NAMES, 5.0)
    assert (found.position, found.flags) == (0, ("budget",))
    assert "price unknown" in found.reason
    assert "5.0" not in found.reason
