"""Cost of learning: lookups, vector search, embedding, and what a turn pays: `python -m tests.bench.learning`.

Searches are measured by the wall clock with their best and median time, because they are bound by memory, and the best
tells what they take on a machine that does nothing else.
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sophon import Context, ModelRequest, Pipeline, Services
from sophon.chain.pipeline import Next
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.policy_cache import VectorPolicyCache
from sophon.learning.vector_index import ExactIndex
from sophon.routing.context_keys import ROUTE
from sophon.routing.route_record import RouteRecord
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.vectors.stored_policies import create_policy_cache
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve
from sophon_middlewares.learning.learning import Learning
from sophon_middlewares.learning.scoring import Scoring

DIMENSIONS = 384
REPETITIONS = 60
TURNS = 300
ROUNDS_OF_TURNS = 7
TEXT = "Please review the parser of the compiler and tell me where it is slow. " * 3


def measure(work: Callable[[], object]) -> tuple[float, float]:
    """Return the best and the median time of a call, in microseconds."""
    times: list[float] = []
    for _ in range(REPETITIONS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times) * 1e6, statistics.median(times) * 1e6


def show(what: str, found: tuple[float, float], goal: float | None = None) -> None:
    """Print one figure."""
    aim = f"   goal {goal:,.0f} us" if goal is not None else ""
    print(f"{what:<58}{found[0]:>10,.0f} us best{found[1]:>10,.0f} us median{aim}")


def random_vectors(count: int) -> Any:
    """Return reproducible vectors."""
    import numpy as np

    return np.random.default_rng(7).standard_normal((count, DIMENSIONS), dtype=np.float32)


def fill(index: ExactIndex, vectors: Any) -> ExactIndex:
    """Add vectors to an index."""
    for number, vector in enumerate(vectors):
        index.add(str(number), vector)
    return index


def searches() -> None:
    """The five nearest of 10,000 and of 100,000 vectors."""
    for count, goal in ((10_000, 300.0), (100_000, 4000.0)):
        vectors = random_vectors(count)
        query = vectors[count // 2]
        index = fill(ExactIndex(DIMENSIONS, count), vectors)
        show(f"exact search, {count:,} vectors", measure(lambda i=index, q=query: i.search(q)), goal)


async def lookups() -> None:
    """A lookup in a policy cache of 10,000 entries."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    cache = VectorPolicyCache(lambda: now)
    vectors = random_vectors(10_000)
    for vector in vectors:
        await cache.record(vector, "free", "m", 0.9)
    times: list[float] = []
    for _ in range(REPETITIONS):
        began = time.perf_counter()
        await cache.lookup(vectors[5000])
        times.append(time.perf_counter() - began)
    show("policy cache lookup, 10,000 entries", (min(times) * 1e6, statistics.median(times) * 1e6), 500.0)


def embeddings() -> None:
    """The vector of a message, and of one that was embedded before."""
    embedder = HashingEmbedder(DIMENSIONS)
    cached = CachingEmbedder(embedder)
    cached.find(TEXT)
    show(f"hashing embedder, {len(TEXT)} characters", measure(lambda: embedder.embed_text(TEXT)))
    show("the same text from the cache", measure(lambda: cached.find(TEXT)))


async def route(ctx: Context, next: Next, /) -> None:
    """Leave a route with a tier, which learning keeps."""
    ctx.put(ROUTE, RouteRecord("Intelligent", "function/function", tier="premium"))
    await next(ctx)


class Turns:
    """Turns of the default chain over a store in memory, with and without learning."""

    def __init__(self, *, learning: bool, keeps_routes: bool = False) -> None:
        store = InMemoryStore()
        embedder = CachingEmbedder(HashingEmbedder(DIMENSIONS))
        self._services = Services(
            models=FunctionModel(self._answer),
            store=store,
            settings={"Planning": {"Mode": "Never"}, "Learning": {"Enabled": learning}},
            embedder=embedder,
        )
        self._services.learning = replace(
            self._services.learning, policies=create_policy_cache(store.vectors, embedder, self._services.clock)
        )
        chain = twelve(self._services, {"Learning": Learning(), "Scoring": Scoring()} if learning else {})
        layers = list(chain)
        if keeps_routes:
            layers.insert(3, route)
        self._chain = Pipeline.compose(*layers)
        self._number = 0

    async def _answer(self, request: ModelRequest) -> str:
        return f"The parser of the compiler is slow where it reads names. {len(request.messages)}"

    async def seconds_per_turn(self) -> float:
        """Return the CPU time of a turn."""
        began = time.process_time()
        for _ in range(TURNS):
            self._number += 1
            await self._chain.run(self._services.turn(f"{TEXT} {self._number}", session_id=f"s{self._number}"))
        return (time.process_time() - began) / TURNS


async def turns() -> None:
    """What scoring and keeping a turn add to it."""
    kinds = {
        "without learning": Turns(learning=False),
        "with score and trajectory": Turns(learning=True),
        "with the route of a new message, embedded by hashing, too": Turns(learning=True, keeps_routes=True),
    }
    samples: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(ROUNDS_OF_TURNS):
        for name, kind in kinds.items():
            gc.collect()
            samples[name].append(await kind.seconds_per_turn())
    base = samples.pop("without learning")
    print(f"{'a turn of the twelve without learning':<58}{statistics.median(base) * 1e6:>10,.0f} us CPU")
    for name, found in samples.items():
        added = statistics.median(after - before for after, before in zip(found, base, strict=True)) * 1e6
        print(f"  {name:<56}{added:>+10,.0f} us CPU")


async def measure_all() -> None:
    """Print all figures."""
    searches()
    await lookups()
    embeddings()
    await turns()


if __name__ == "__main__":
    asyncio.run(measure_all())
