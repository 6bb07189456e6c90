"""Learned routing is worth it: the workload of the benchmark, in small."""

import statistics
from collections.abc import Sequence
from typing import Any

from tests.bench.routing import STRATEGIES, Bench, Turn, run_strategy
from tests.bench.routing_workload import make_messages
from tests.tables import table

TURNS, SEED = 1200, 1
CAUTIOUS = {
    "Strategy": "Tiered",
    "Tiers": [
        {"Name": "low", "Models": ["small"], "Complexity": [0, 0.15]},
        {"Name": "high", "Models": ["large"], "Complexity": [0.15, 1]},
    ],
}
"""Tiers by complexity of nearly the quality of learned routing."""


def quality(turns: Sequence[Turn]) -> float:
    return statistics.fmean(turn.quality for turn in turns)


def cost(turns: Sequence[Turn]) -> float:
    return statistics.fmean(turn.cost for turn in turns)


async def beats_tiered(*, learns: bool) -> bool:
    learned = await run_strategy(STRATEGIES["CostAware"], SEED, TURNS, signal="thumbs", learns=learns)
    tiered = await run_strategy(CAUTIOUS, SEED, TURNS)
    return quality(learned) >= quality(tiered) and cost(learned) < 0.5 * cost(tiered)


async def test_learned_routing_costs_less_than_tiers_of_no_better_quality() -> None:
    assert await beats_tiered(learns=True)


async def test_without_learning_it_does_not() -> None:
    assert not await beats_tiered(learns=False)


@table("name", ["CostAware", "Intelligent"])
async def test_a_strategy_that_learns_is_tiered_until_something_was_judged(name: str) -> None:
    learned = await run_strategy(STRATEGIES[name], SEED, 500, signal="none")
    assert learned == await run_strategy(STRATEGIES["Tiered"], SEED, 500, signal="none")


@table("varies", [True, False])
@table("name", ["CostAware", "Intelligent"])
async def test_with_ratings_of_every_fifth_answer_both_are_better_than_tiered(name: str, varies: bool) -> None:
    learned = await run_strategy(STRATEGIES[name], SEED, TURNS, signal="thumbs", varies=varies)
    tiered = await run_strategy(STRATEGIES["Tiered"], SEED, TURNS, signal="thumbs", varies=varies)
    assert quality(learned) > quality(tiered) + 0.05


async def test_the_same_seed_clock_and_embedder_give_the_same_thousand_decisions() -> None:
    async def decide(routing: dict[str, Any], seed: int) -> list[str]:
        bench = Bench(routing, seed)
        for at, message in enumerate(make_messages(500, 1)):
            await bench.ask(message, has_drifted=at >= 250)
        return bench.decisions

    exploring = {"Strategy": "CostAware", "Quality": {"Exploration": 0.5}}
    for routing in (exploring, {"Strategy": "Intelligent"}):
        assert await decide(routing, 1) == await decide(routing, 1)
    assert await decide(exploring, 1) != await decide(exploring, 2)
