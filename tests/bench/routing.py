"""What learning is worth: cost and quality of each routing strategy: `python -m tests.bench.routing`.

The router, its strategies, the policy cache and the averages are the real ones; the messages and the models are those
of `routing_workload`. `--plot` writes docs/images/routing.svg.
"""

import asyncio
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from sophon import ModelRequest
from sophon._python.lazy_dataclass import dataclass
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.policy_cache import VectorPolicyCache
from sophon.learning.trajectories import GOOD_FROM, POOR_BELOW, rate_quality
from sophon.models.gateway.provider import Candidate, Provider
from sophon.routing.router import RouteQuery, Router
from sophon.settings import Settings
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.route_averages.route_average import RouteObservation
from sophon.stores.vectors.stored_policies import create_policy_cache
from sophon.testing import FunctionModel, VirtualClock
from tests.bench.routing_workload import COSTS, MODELS, Message, ask_oracle, make_messages, quality_of

TURNS: Final = 3000
SEEDS: Final = (1, 2, 3, 4, 5)
WINDOW: Final = 150
"""Turns of the moving averages in the plot and of the search for the turn at which a strategy has learnt."""
TOLERANCE: Final = 0.03
COST_WEIGHT: Final = 10.0
"""Quality that a US dollar is worth, to compare strategies by one number: a turn of the large model costs 0.15."""
Signal: TypeAlias = Literal["measured", "thumbs", "none"]
"""`measured`: the quality of each answer, right or wrong, with noise. `thumbs`: in a fifth of the turns what a person
says. `none`: nobody says anything, and the form of an answer shows no fault."""

CASES: Final[Sequence[tuple[Signal, bool]]] = (
    *(("measured", True), ("thumbs", True), ("none", True)),
    *(("measured", False), ("thumbs", False)),
)
"""Signal, and whether the messages about a topic vary in their words."""

TIERS: Final = [
    {"Name": "low", "Models": ["small"], "Complexity": [0, 0.15]},
    {"Name": "middle", "Models": ["medium"], "Complexity": [0.15, 0.35]},
    {"Name": "high", "Models": ["large"], "Complexity": [0.35, 1]},
]
STRATEGIES: Final[dict[str, dict[str, Any]]] = {
    "Static (medium)": {"Strategy": "Static", "Model": "medium/medium"},
    "Static (large)": {"Strategy": "Static", "Model": "large/large"},
    "Tiered": {"Strategy": "Tiered"},
    "Intelligent": {"Strategy": "Intelligent"},
    "CostAware": {"Strategy": "CostAware"},
}


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn cost in USD, and the chance that its answer was right."""

    cost: float
    quality: float

    @property
    def value(self) -> float:
        """Quality less the worth of the cost."""
        return self.quality - COST_WEIGHT * self.cost


class Bench:
    """One strategy with its learning, over one workload."""

    def __init__(self, routing: dict[str, Any], seed: int, *, signal: Signal = "measured", learns: bool = True) -> None:
        # The messages are made-up words; what hints at their difficulty is made for the published formula.
        measure = {"Classification": {"Complexity": "Prompt"}}
        settings = Settings.from_mapping({"Routing": {"Tiers": TIERS, **measure, **routing}})
        self._signal, self._learns = signal, learns
        self._clock, self._store = VirtualClock(), InMemoryStore()
        embedder = CachingEmbedder(HashingEmbedder())
        self._policies: VectorPolicyCache = create_policy_cache(self._store.vectors, embedder, self._clock)
        self._router = Router(settings.routing, clock=self._clock, embedder=embedder, policies=self._policies)
        providers = [Provider(name, [FunctionModel(_answer, name=name)], priority=at) for at, name in enumerate(MODELS)]
        self._eligible = [Candidate(provider, provider.models[0]) for provider in providers]
        self._random = random.Random(seed)
        self.decisions: list[str] = []

    async def ask(self, message: Message, *, has_drifted: bool) -> Turn:
        """Route a message, draw how well it was answered, and learn from that."""
        routed = await self._router.route(RouteQuery(message.text), self._eligible, self._store)
        model = routed.decision.candidates[0].info.name
        self.decisions.append(f"{model}: {routed.record.reason}")
        quality = quality_of(model, message, has_drifted=has_drifted)
        if self._learns:
            await self._learn(message, routed, model, is_right=self._random.random() < quality)
        self._clock.advance(60)
        return Turn(COSTS[model], quality)

    async def _learn(self, message: Message, routed: Any, model: str, *, is_right: bool) -> None:
        score, said = self._score(is_right=is_right)
        found = rate_quality(score, said)
        record = routed.record
        name, now = f"{model}/{model}", self._clock.now()
        seen = [RouteObservation(name, record.tier, record.task_type, now, COSTS[model] * 1e6, 900.0, score)]
        if said:
            seen.append(RouteObservation(name, record.tier, record.task_type, now, said=(said[0] + 1) / 2))
        self._router.observe(seen)
        await self._store.route_averages.add(seen)  # read again every 30 s, as by other processes
        if not record.tier or routed.vector is None or found is None:
            return
        is_poor = found < POOR_BELOW
        if is_poor or found >= GOOD_FROM:
            await self._policies.record(routed.vector, record.tier, name, found, is_poor=is_poor)

    def _score(self, *, is_right: bool) -> tuple[float | None, list[float]]:
        if self._signal == "measured":
            return min(max(self._random.gauss(0.95 if is_right else 0.25, 0.15), 0.0), 1.0), []
        says = self._signal == "thumbs" and self._random.random() < 0.2
        return None, ([1.0 if is_right else -1.0] if says else [])


async def _answer(request: ModelRequest) -> str:
    raise AssertionError("the bench asks no model")


async def run_strategy(
    routing: dict[str, Any],
    seed: int,
    turns: int,
    *,
    signal: Signal = "measured",
    learns: bool = True,
    varies: bool = True,
) -> list[Turn]:
    """Return the turns of a strategy; the models drift in the middle."""
    bench = Bench(routing, seed, signal=signal, learns=learns)
    messages = make_messages(turns, seed, varies=varies)
    return [await bench.ask(message, has_drifted=at >= turns // 2) for at, message in enumerate(messages)]


def run_choice(choose: Callable[[Message, bool], str], seed: int, turns: int, *, varies: bool = True) -> list[Turn]:
    """Return the turns of a rule that learns nothing."""
    found: list[Turn] = []
    for at, message in enumerate(make_messages(turns, seed, varies=varies)):
        has_drifted = at >= turns // 2
        model = choose(message, has_drifted)
        found.append(Turn(COSTS[model], quality_of(model, message, has_drifted=has_drifted)))
    return found


async def run_all(
    turns: int, seeds: Sequence[int], signal: Signal, *, varies: bool = True
) -> dict[str, list[list[Turn]]]:
    """Return the turns of every strategy, the oracle and chance, per seed."""
    found: dict[str, list[list[Turn]]] = {}
    for name, routing in STRATEGIES.items():
        found[name] = [await run_strategy(routing, seed, turns, signal=signal, varies=varies) for seed in seeds]
    chance = {seed: random.Random(seed) for seed in seeds}
    found["random"] = [
        run_choice(lambda _m, _d, s=seed: chance[s].choice(MODELS), seed, turns, varies=varies) for seed in seeds
    ]
    found["oracle"] = [
        run_choice(lambda m, d: ask_oracle(m, has_drifted=d), seed, turns, varies=varies) for seed in seeds
    ]
    return found


def moving_means(turns: Sequence[Turn], of: Callable[[Turn], float]) -> list[float]:
    """Return the mean of the `WINDOW` turns before each turn from there on."""
    values = [of(turn) for turn in turns]
    total = sum(values[:WINDOW])
    means = [total / WINDOW]
    for at in range(WINDOW, len(values)):
        total += values[at] - values[at - WINDOW]
        means.append(total / WINDOW)
    return means


def turns_to_settle(turns: Sequence[Turn], oracle: Sequence[Turn]) -> int:
    """Return the turns of a half until the loss against the oracle stays near what it is in the last third.

    The loss is that of `Turn.value`; the same messages are compared, so that their difficulty does not matter.
    """
    losses = [Turn(0.0, best.value - turn.value) for turn, best in zip(turns, oracle, strict=True)]
    means = moving_means(losses, lambda turn: turn.quality)
    final = statistics.fmean(means[-len(means) // 3 :])
    late = [at for at, mean in enumerate(means) if mean > final + TOLERANCE]
    return late[-1] + 1 + WINDOW if late else 0


def show_table(found: dict[str, list[list[Turn]]], *, learns: bool) -> str:
    """Return the table in Markdown: cost and quality before and after the drift with their spread over the seeds.

    Where nobody judges, nothing is learnt, and no turn at which it would be.
    """
    lines = [
        "| strategy | USD per 1,000 turns | quality | after the drift: USD | quality | turns to learn | to unlearn |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, runs in found.items():
        cells = [name]
        half = len(runs[0]) // 2
        for part in (slice(0, half), slice(half, None)):
            cells.append(_spread([1000 * statistics.fmean(t.cost for t in run[part]) for run in runs], 2))
            cells.append(_spread([statistics.fmean(t.quality for t in run[part]) for run in runs], 3))
        if learns and name in ("Intelligent", "CostAware"):
            for part in (slice(0, half), slice(half, None)):
                settled = [
                    turns_to_settle(run[part], best[part]) for run, best in zip(runs, found["oracle"], strict=True)
                ]
                cells.append(f"{statistics.median(settled):.0f}")
        else:
            cells += ["", ""]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _spread(values: Sequence[float], places: int) -> str:
    return f"{statistics.fmean(values):.{places}f} ± {statistics.pstdev(values):.{places}f}"


async def measure(turns: int = TURNS, seeds: Sequence[int] = SEEDS) -> dict[str, list[list[Turn]]]:
    """Print the tables of all signals, and of messages that come again word by word; return the turns of the first."""
    first: dict[str, list[list[Turn]]] | None = None
    for signal, varies in CASES:
        found = await run_all(turns, seeds, signal, varies=varies)
        words = "in other words" if varies else "word by word"
        print(f"routing, {turns:,} turns, {len(seeds)} seeds, learning from {signal}, topics come again {words}")
        print(show_table(found, learns=signal != "none"), flush=True)
        first = first or found
    assert first is not None
    return first


async def main() -> None:
    """Measure; with `--plot` draw it too."""
    found = await measure()
    if "--plot" in sys.argv:
        from tests.bench.routing_plot import draw

        path = Path(__file__).parents[2] / "docs" / "images" / "routing.svg"
        path.write_text(draw(found, WINDOW), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
