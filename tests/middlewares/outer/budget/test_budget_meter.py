"""The rules of the meter: which limits hold, when one is met, when somebody is told; and a claim is made at once."""

import asyncio
from datetime import UTC, datetime

import pytest

from sophon import ModelRequest, Services, Usage
from sophon.errors import BudgetExceeded
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo
from sophon.models.offline import OfflineModel
from sophon.settings import BudgetSettings, Settings
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.usage.contract import PayerLimits, PayerSpending, Period, ProviderLimits, Reservation, Spending
from sophon.stores.usage.in_memory import InMemoryUsageStore
from sophon.testing import VirtualClock
from sophon_middlewares.outer.budget.budget_meter import TurnMeter
from sophon_middlewares.outer.budget.provider_budget import exceeded_budget, limits_for_provider

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def budget(providers: dict[str, dict[str, float | int | None]]) -> BudgetSettings:
    return Settings.from_mapping({"Budget": {"Providers": providers}}).budget


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


class SlowUsage(InMemoryUsageStore):
    """Books that answer later, as those of a database, and count the questions about alerts."""

    asked_alerts = 0

    async def mark_alerted(self, provider: str, period: str, name: str) -> bool:
        self.asked_alerts += 1
        return await super().mark_alerted(provider, period, name)

    async def reserve(
        self,
        provider: str,
        period: Period,
        worst_case: Usage,
        limits: ProviderLimits,
        payer: PayerLimits | None = None,
        task: PayerLimits | None = None,
    ) -> Reservation | Spending | PayerSpending:
        await asyncio.sleep(0)
        return await super().reserve(provider, period, worst_case, limits, payer, task)


def metered(tokens: int, books: SlowUsage | None = None, **providers: dict[str, int]) -> TurnMeter:
    store = InMemoryStore(clock=VirtualClock())
    store.usage = books or SlowUsage()
    budget = {"Turn": {"Tokens": tokens}, "Providers": providers}
    models = Provider("p", [OfflineModel()])
    services = Services(models=models, clock=VirtualClock(), store=store, settings={"Budget": budget})
    return TurnMeter(services.turn("go"))


def request(max_tokens: int) -> ModelRequest:
    return ModelRequest([], [], ModelInfo("m", "p"), max_tokens=max_tokens)


async def test_of_two_steps_that_ask_at_the_same_time_no_more_get_through_than_the_turn_allows() -> None:
    meter = metered(1000)

    claims = await asyncio.gather(*(meter.reserve(request(500), 100) for _ in range(2)), return_exceptions=True)

    assert [type(claim).__name__ for claim in claims] == ["AttemptReservation", "BudgetExceeded"]


async def test_a_claim_that_the_provider_refuses_or_a_cancellation_stops_takes_no_room_from_the_turn() -> None:
    meter = metered(1000, p={"DailyTokens": 700})
    with pytest.raises(BudgetExceeded):
        await meter.reserve(request(800), 100)
    waiting = asyncio.ensure_future(meter.reserve(request(600), 50))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert (await meter.reserve(request(600), 50)).tokens == 650


async def test_near_a_limit_the_store_is_asked_once_in_a_turn_about_each_alert() -> None:
    books = SlowUsage()
    meter = metered(100_000, books, p={"DailyTokens": 1000})
    for used in (850, 20, 20, 110):
        call = request(100)
        await meter.settle(await meter.reserve(call, 10), call, Usage(used, 0))
    assert books.asked_alerts == 2


async def test_input_that_may_be_written_to_a_prompt_cache_is_reserved_at_the_price_of_that() -> None:
    info = ModelInfo("m", "p", prices=(10.0, 0.0), cache_write_factor=1.25)
    reservation = await metered(1000).reserve(ModelRequest([], [], info, max_tokens=1), 100)
    assert reservation.micros == 1250
