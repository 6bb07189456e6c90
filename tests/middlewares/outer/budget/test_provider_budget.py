"""The limits of a provider: its own or those of `*`, when one is met, and when it resets."""

from datetime import UTC, datetime

from sophon import Usage
from sophon.settings import BudgetSettings, Settings
from sophon.stores.usage.contract import ProviderLimits, Spending
from sophon_middlewares.outer.budget.provider_budget import exceeded_budget, limits_for_provider
from tests.tables import table

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def budget(providers: dict[str, dict[str, float | int | None]]) -> BudgetSettings:
    return Settings.from_mapping({"Budget": {"Providers": providers}}).budget


@table(
    ("providers", "expected"),
    [
        ({}, ProviderLimits()),
        ({"a": {"DailyTokens": 5}}, ProviderLimits(5)),
        ({"a": {"MonthlyCost": 1.5}}, ProviderLimits(None, 1_500_000)),
        ({"*": {"DailyTokens": 7}}, ProviderLimits(7)),
        ({"*": {"DailyTokens": 7}, "a": {"MonthlyCost": 0.000001}}, ProviderLimits(None, 1)),
        ({"*": {"DailyTokens": 7}, "a": {}}, ProviderLimits()),
        ({"b": {"DailyTokens": 7}}, ProviderLimits()),
    ],
)
def test_a_providers_own_entry_holds_or_else_the_one_for_all(providers, expected: ProviderLimits) -> None:
    assert limits_for_provider("a", budget(providers)) == expected


@table(
    ("spent", "limits", "claim", "met"),
    [
        (Spending(9, 0), ProviderLimits(10), None, None),
        (Spending(10, 0), ProviderLimits(10), None, "DailyTokens"),
        (Spending(5, 0), ProviderLimits(10), Usage(2, 3), None),
        (Spending(5, 0), ProviderLimits(10), Usage(2, 4), "DailyTokens"),
        (Spending(0, 99), ProviderLimits(None, 100), None, None),
        (Spending(0, 100), ProviderLimits(None, 100), None, "MonthlyCost"),
        (Spending(0, 50), ProviderLimits(None, 100), Usage(1, 1, 50), None),
        (Spending(0, 50), ProviderLimits(None, 100), Usage(1, 1, 51), "MonthlyCost"),
        (Spending(0, 200), ProviderLimits(None, 100), Usage(9, 9, 0), "MonthlyCost"),
        (Spending(10, 100), ProviderLimits(10, 100), None, "DailyTokens"),
        (Spending(10**9, 10**9), ProviderLimits(), None, None),
    ],
)
def test_a_limit_is_met_when_nothing_fits_any_more(
    spent: Spending, limits: ProviderLimits, claim, met: str | None
) -> None:
    error = exceeded_budget("a", spent, limits, NOW, "UTC", worst_case=claim)
    assert (error.limit if error else None) == met


def test_a_met_limit_says_how_much_was_used_how_much_was_needed_and_when_it_resets() -> None:
    error = exceeded_budget(
        "a", Spending(600_000, 0), ProviderLimits(1_000_000), NOW, "UTC", worst_case=Usage(300_000, 200_000)
    )

    assert error is not None
    assert (error.used, error.needed, error.allowed) == (600_000, 500_000, 1_000_000)
    assert str(error) == (
        "the budget DailyTokens of provider 'a' is spent: 600000 of 1000000 used, and the next call may need 500000; "
        "it resets at 2026-02-01T00:00:00+00:00"
    )


def test_cost_is_told_in_dollars_and_resets_with_the_month() -> None:
    error = exceeded_budget("a", Spending(0, 2_500_000), ProviderLimits(None, 2_500_000), NOW, "Europe/Berlin")

    assert error is not None
    assert (error.used, error.allowed, error.resets_at) == (2.5, 2.5, "2026-01-31T23:00:00+00:00")
