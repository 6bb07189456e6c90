"""`sophon doctor` on routing that learns: from what, and how much of it there is."""

from typing import Any

import pytest

from sophon import Services
from sophon.stores.route_averages.route_average import RouteObservation
from sophon_hosting.programs.doctor.findings import DoctorFinding
from sophon_hosting.programs.doctor.routing_evidence_checks import check_learning


async def check(settings: dict[str, Any], *judged: RouteObservation) -> DoctorFinding | None:
    services = Services(settings=settings)
    await services.store.route_averages.add(judged)
    return await check_learning(services)


def rated(services: Services, tier: str, count: int) -> list[RouteObservation]:
    return [RouteObservation("m", tier, "chat", services.clock.now(), said=1.0)] * count


async def test_a_strategy_that_learns_says_from_what_and_how_much_there_is() -> None:
    services = Services()
    judged = [*rated(services, "low", 5), *rated(services, "high", 4)]
    found = await check({"Routing": {"Strategy": "CostAware"}}, *judged)
    assert found is not None
    assert found.grade == "ok"
    assert "CostAware learns from what people say about answers, and faults of form" in found.text
    assert "1 of 2 tiers and task types have 5 judged answers" in found.text
    assert "decides as Tiered" in found.text


@pytest.mark.parametrize(
    ("learning", "expected"),
    [
        ({"Scorer": "Evaluator", "Evaluator": {"Share": 0.25}}, "a model that judges 25% of the others"),
        ({"Scorer": "Fitness"}, "learns from what people say about answers;"),
    ],
)
async def test_the_source_is_that_of_the_scorer(learning: dict[str, Any], expected: str) -> None:
    found = await check({"Routing": {"Strategy": "Intelligent"}, "Learning": learning})
    assert found is not None
    assert expected in found.text


async def test_learning_that_is_off_is_a_warning_and_other_strategies_say_nothing() -> None:
    found = await check({"Routing": {"Strategy": "Intelligent"}, "Learning": {"Enabled": False}})
    assert found is not None
    assert found.grade == "warning"
    assert await check({"Routing": {"Strategy": "Tiered"}}) is None
