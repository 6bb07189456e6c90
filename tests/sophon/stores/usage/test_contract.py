"""What every store promises about the books."""

import asyncio
from datetime import UTC, datetime

import pytest

from sophon.messages import Usage
from sophon.stores.contract import Store
from sophon.stores.usage.contract import (
    PayerLimits,
    PayerSpending,
    Period,
    ProviderLimits,
    Reservation,
    Spending,
    UsageRow,
    UsageTotal,
)

TODAY = Period("2026-01-31", "2026-01")
TOMORROW = Period("2026-02-01", "2026-02")
FREE = ProviderLimits()


def row(usage: Usage, **changes: object) -> UsageRow:
    facts: dict[str, object] = {"provider": "p", "model": "m", "purpose": "reply", "session_id": "s", "run_id": "r"}
    facts |= {"usage": usage, "period": TODAY, "at": datetime(2026, 1, 31, tzinfo=UTC)}
    return UsageRow(**(facts | changes))  # type: ignore[arg-type]


async def reserved(store: Store, usage: Usage, limits: ProviderLimits = FREE) -> Reservation:
    claim = await store.usage.reserve("p", TODAY, usage, limits)
    assert isinstance(claim, Reservation)
    return claim


async def test_a_claim_counts_as_spent_until_it_is_released(store: Store):
    claim = await reserved(store, Usage(60, 40, 500))
    assert (claim.provider, claim.period, claim.tokens, claim.micros) == ("p", TODAY, 100, 500)
    assert await store.usage.get_spending("p", TODAY) == Spending(100, 500)
    assert await store.usage.reserved() == 100
    await store.usage.release(claim)
    assert await store.usage.get_spending("p", TODAY) == Spending(0, 0)
    assert await store.usage.reserved() == 0


async def test_settling_replaces_the_claim_by_what_was_used(store: Store):
    claim = await reserved(store, Usage(60, 40, 500))
    assert await store.usage.settle(claim, row(Usage(10, 5, 70))) == Spending(15, 70)
    assert await store.usage.get_spending("p", TODAY) == Spending(15, 70)
    assert await store.usage.reserved() == 0


async def test_usage_without_a_claim_is_counted_all_the_same(store: Store):
    assert await store.usage.settle(None, row(Usage(10, 5, 70))) == Spending(15, 70)
    assert await store.usage.get_spending("p", TODAY) == Spending(15, 70)
    assert await store.usage.list_totals() == [UsageTotal("2026-01-31", "p", "m", 1, Usage(10, 5, 70))]


async def test_a_row_stands_for_all_the_calls_that_it_counts(store: Store):
    await store.usage.record([row(Usage(10, 5, 70), calls=3), row(Usage(1, 1), model="other")])
    await store.usage.record([])
    totals = [("m", 3, Usage(10, 5, 70)), ("other", 1, Usage(1, 1))]
    for found in (await store.usage.list_totals(), await store.usage.list_totals(session_id="s")):
        assert [(total.model, total.calls, total.usage) for total in found] == totals
    assert await store.usage.get_spending("p", TODAY) == Spending(17, 70)


async def test_tokens_of_unknown_price_are_summed_apart(store: Store):
    for _ in range(2):
        await store.usage.settle(None, row(Usage(10, 5, 0, 0, 15)))
    assert [total.usage for total in await store.usage.list_totals()] == [Usage(20, 10, 0, 0, 30)]
    assert [total.usage for total in await store.usage.list_totals(session_id="s")] == [Usage(20, 10, 0, 0, 30)]


async def test_open_claims_are_told_apart_by_provider_day_and_month(store: Store):
    claim = await reserved(store, Usage(60, 40, 500))
    await store.usage.reserve("q", TODAY, Usage(1, 1, 1), FREE)
    assert await store.usage.get_reserved("p", TODAY) == Spending(100, 500)
    assert await store.usage.get_reserved("p", TOMORROW) == Spending(0, 0)
    assert await store.usage.get_reserved("p", Period("2026-01-30", "2026-01")) == Spending(0, 500)
    await store.usage.release(claim)
    assert await store.usage.get_reserved("p", TODAY) == Spending(0, 0)


async def test_an_alert_is_new_once_for_its_provider_period_and_name(store: Store):
    marks = [("p", "2026-01-31", "DailyTokens:1"), ("p", "2026-01-31", "DailyTokens:0.8"), ("q", "2026-01", "x")]
    assert [await store.usage.mark_alerted(*mark) for mark in marks] == [True, True, True]
    assert [await store.usage.mark_alerted(*mark) for mark in marks] == [False, False, False]
    found = await asyncio.gather(*(store.usage.mark_alerted("r", "2026-01", "x") for _ in range(5)))
    assert sorted(found) == [False] * 4 + [True]


async def test_more_may_be_used_than_was_claimed(store: Store):
    claim = await reserved(store, Usage(1, 0, 1))
    assert await store.usage.settle(claim, row(Usage(50, 50, 900))) == Spending(100, 900)


@pytest.mark.parametrize(
    ("claim", "limits", "passes"),
    [
        (Usage(5, 5, 10), ProviderLimits(100, 100), True),
        (Usage(45, 5, 50), ProviderLimits(100, 100), True),
        (Usage(46, 5, 0), ProviderLimits(100, 100), False),
        (Usage(0, 0, 51), ProviderLimits(100, 100), False),
        (Usage(10**9, 0, 51), ProviderLimits(None, 101), True),
        (Usage(10, 0, 10**9), ProviderLimits(100, None), True),
        (Usage(10**12, 0, 10**12), FREE, True),
    ],
)
async def test_a_claim_may_meet_a_limit_and_not_pass_it(
    store: Store, claim: Usage, limits: ProviderLimits, passes: bool
):
    await reserved(store, Usage(25, 25, 50))
    answer = await store.usage.reserve("p", TODAY, claim, limits)
    assert answer == Spending(50, 50) if not passes else isinstance(answer, Reservation)


async def test_a_refused_claim_leaves_nothing_behind(store: Store):
    assert await store.usage.reserve("p", TODAY, Usage(5, 5, 999), ProviderLimits(100, 10)) == Spending(0, 0)
    assert await store.usage.reserve("p", TODAY, Usage(500, 5, 1), ProviderLimits(100, 10)) == Spending(0, 0)
    assert await store.usage.get_spending("p", TODAY) == Spending(0, 0)
    assert await store.usage.reserved() == 0


async def test_tokens_are_counted_by_day_and_cost_by_month(store: Store):
    await reserved(store, Usage(10, 0, 70))
    assert await store.usage.get_spending("p", Period("2026-01-01", "2026-01")) == Spending(0, 70)
    assert await store.usage.get_spending("p", TOMORROW) == Spending(0, 0)
    assert await store.usage.get_spending("other", TODAY) == Spending(0, 0)


async def test_a_claim_is_given_back_to_the_period_that_it_was_taken_from(store: Store):
    claim = await reserved(store, Usage(10, 0, 70))
    assert await store.usage.settle(claim, row(Usage(3, 0, 20), period=TOMORROW)) == Spending(3, 20)
    assert await store.usage.get_spending("p", TODAY) == Spending(0, 0)


async def test_a_claim_that_has_ended_ends_only_once(store: Store):
    claim = await reserved(store, Usage(10, 0, 70))
    await store.usage.settle(claim, row(Usage(3, 0, 20)))
    await store.usage.release(claim)
    assert await store.usage.get_spending("p", TODAY) == Spending(3, 20)


async def test_of_fifty_claims_at_once_with_room_for_one_one_gets_through(store: Store):
    limits = ProviderLimits(daily_tokens=100)
    claim = Usage(60, 0, 5)
    answers = await asyncio.gather(*(store.usage.reserve("p", TODAY, claim, limits) for _ in range(50)))
    (winner,) = [answer for answer in answers if isinstance(answer, Reservation)]
    assert answers.count(Spending(60, 5)) == 49
    await store.usage.release(winner)
    assert await store.usage.reserved() == 0
    assert await store.usage.get_spending("p", TODAY) == Spending(0, 0)


async def test_totals_are_per_day_provider_and_model(store: Store):
    rows = [
        row(Usage(1, 2, 3, 1)),
        row(Usage(10, 20, 30)),
        row(Usage(5, 5, 5), model="z"),
        row(Usage(7, 7, 7), period=TOMORROW, session_id="t"),
    ]
    for each in rows:
        await store.usage.settle(await reserved(store, Usage(1, 1, 1)), each)
    assert await store.usage.list_totals() == [
        UsageTotal("2026-01-31", "p", "m", 2, Usage(11, 22, 33, 1)),
        UsageTotal("2026-01-31", "p", "z", 1, Usage(5, 5, 5)),
        UsageTotal("2026-02-01", "p", "m", 1, Usage(7, 7, 7)),
    ]


async def test_totals_since_a_day_and_of_a_session(store: Store):
    for each in (row(Usage(1)), row(Usage(2), period=TOMORROW), row(Usage(4), session_id="t")):
        await store.usage.settle(await reserved(store, Usage(1)), each)
    assert [total.usage.input_tokens for total in await store.usage.list_totals(since="2026-02-01")] == [2]
    assert [total.usage.input_tokens for total in await store.usage.list_totals(session_id="t")] == [4]
    assert await store.usage.list_totals(session_id="nobody") == []


async def test_the_usage_of_a_deleted_session_stays_in_the_totals_only(store: Store):
    await store.sessions.get_or_create("t", "ada")
    for each in (row(Usage(2)), row(Usage(4), session_id="t")):
        await store.usage.settle(await reserved(store, Usage(1)), each)
    await store.sessions.delete("t")
    await store.sessions.get_or_create("t", "bob")
    assert await store.usage.list_totals(session_id="t") == []
    assert [total.usage.input_tokens for total in await store.usage.list_totals()] == [6]


ADA = PayerLimits("ada", daily_micros=100, monthly_micros=150)


async def test_a_payers_reservations_are_charged_settled_and_released(store: Store):
    first = await store.usage.reserve("p", TODAY, Usage(1, 1, 60), FREE, ADA)
    second = await store.usage.reserve("q", TODAY, Usage(1, 1, 30), FREE, ADA)
    assert isinstance(first, Reservation)
    assert isinstance(second, Reservation)
    assert await store.usage.get_payer_spending("ada", TODAY) == PayerSpending(90, 90)
    assert await store.usage.get_payer_reserved("ada", TODAY) == PayerSpending(90, 90)
    await store.usage.settle(first, row(Usage(1, 1, 20)))
    await store.usage.release(second)
    assert await store.usage.get_payer_spending("ada", TODAY) == PayerSpending(20, 20)
    assert await store.usage.get_payer_reserved("ada", TODAY) == PayerSpending(0, 0)
    assert await store.usage.get_payer_spending("bob", TODAY) == PayerSpending(0, 0)


async def test_a_payers_limit_refuses_and_leaves_nothing_reserved(store: Store):
    await store.usage.settle(await store.usage.reserve("p", TODAY, Usage(1, 1, 100), FREE, ADA), row(Usage(1, 1, 100)))  # type: ignore[arg-type]
    assert await store.usage.reserve("p", TODAY, Usage(1, 1, 1), FREE, ADA) == PayerSpending(100, 100)
    another_day = Period("2026-01-30", TODAY.month)
    assert await store.usage.reserve("p", another_day, Usage(1, 1, 51), FREE, ADA) == PayerSpending(0, 100)
    assert isinstance(await store.usage.reserve("p", another_day, Usage(1, 1, 50), FREE, ADA), Reservation)
    assert await store.usage.get_spending("p", TODAY) == Spending(2, 150)


RESEARCH = PayerLimits("research", daily_micros=100, monthly_micros=150, is_task_type=True)


async def test_a_task_type_has_an_account_beside_that_of_the_person(store: Store):
    first = await store.usage.reserve("p", TODAY, Usage(1, 1, 60), FREE, ADA, RESEARCH)
    assert isinstance(first, Reservation)
    assert await store.usage.get_payer_reserved("research", TODAY, is_task_type=True) == PayerSpending(60, 60, True)
    assert await store.usage.get_payer_spending("research", TODAY) == PayerSpending(0, 0), "no person of that name"
    await store.usage.settle(first, row(Usage(1, 1, 90)))
    spent = PayerSpending(90, 90, is_task_type=True)
    assert await store.usage.get_payer_spending("research", TODAY, is_task_type=True) == spent
    # Another person meets the limit of the task type, and nothing of theirs stays reserved.
    bob = PayerLimits("bob", daily_micros=1000)
    assert await store.usage.reserve("p", TODAY, Usage(1, 1, 11), FREE, bob, RESEARCH) == spent
    assert await store.usage.get_payer_spending("bob", TODAY) == PayerSpending(0, 0)
    assert await store.usage.get_spending("p", TODAY) == Spending(2, 90)
    second = await store.usage.reserve("p", TODAY, Usage(1, 1, 10), FREE, None, RESEARCH)
    assert isinstance(second, Reservation)
    await store.usage.release(second)
    assert await store.usage.get_payer_reserved("research", TODAY, is_task_type=True) == PayerSpending(0, 0, True)
    assert await store.usage.get_payer_spending("research", TODAY, is_task_type=True) == spent


async def test_payers_who_reserve_at_the_same_time_never_pass_their_limit(store: Store):
    claims = [store.usage.reserve(f"p{number % 3}", TODAY, Usage(1, 1, 30), FREE, ADA) for number in range(8)]
    results = await asyncio.gather(*claims)
    assert sum(isinstance(result, Reservation) for result in results) == 3
