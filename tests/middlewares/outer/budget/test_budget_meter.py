"""The meter of a turn: what two steps ask for at the same time, what is refused, and who is told."""

import asyncio

import pytest

from sophon import ModelRequest, Services, Usage
from sophon.errors import BudgetExceeded
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo
from sophon.models.offline import OfflineModel
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.usage.contract import PayerLimits, PayerSpending, Period, ProviderLimits, Reservation, Spending
from sophon.stores.usage.in_memory import InMemoryUsageStore
from sophon.testing import VirtualClock
from sophon_middlewares.outer.budget.budget_meter import TurnMeter


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
