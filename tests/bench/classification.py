"""Cost of classification and routing per message: `python -m tests.bench.classification`.

CPU times of this process, the best and the median of repetitions; a repetition is many messages.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from sophon import ModelRequest, Services
from sophon.learning import classify, complexity, complexity_factors
from sophon.models.gateway.provider import Provider
from sophon.routing.router import RouteQuery
from sophon.testing import FunctionModel

TEXT = "Please review the parser of the compiler and explain step by step where it is slow, then compare both designs."
MESSAGES = 2000
REPETITIONS = 9
TIERS = [{"Name": "low", "Models": ["a"]}, {"Name": "high", "Models": ["b"]}]


def show(what: str, found: list[float], goal: float | None = None) -> None:
    """Print one figure, in microseconds per message."""
    aim = f"   goal {goal:,.0f} us" if goal is not None else ""
    times = [each * 1e6 for each in found]
    print(f"{what:<58}{min(times):>10,.1f} us best{statistics.median(times):>10,.1f} us median{aim}")


def measure(work: Callable[[str], object]) -> list[float]:
    """Return the seconds per message of a function, once per repetition."""
    found: list[float] = []
    for _ in range(REPETITIONS):
        began = time.process_time()
        for number in range(MESSAGES):
            work(f"{TEXT} {number}")
        found.append((time.process_time() - began) / MESSAGES)
    return found


async def measure_async(work: Callable[[str], Awaitable[object]]) -> list[float]:
    """Return the seconds per message of an async function, once per repetition."""
    found: list[float] = []
    for _ in range(REPETITIONS):
        began = time.process_time()
        for number in range(MESSAGES):
            await work(f"{TEXT} {number}")
        found.append((time.process_time() - began) / MESSAGES)
    return found


async def answer(request: ModelRequest) -> str:
    """Return an answer; it is never asked for."""
    return "fine"


def build(**routing: Any) -> Services:
    """Return services with two providers."""
    providers = [Provider(name, [FunctionModel(answer, prices=(1, 1))]) for name in ("a", "b")]
    return Services(models=providers, settings={"Routing": routing})


async def measure_all() -> None:
    """Print all figures."""
    print(f"a message of {len(TEXT.split()) + 1} words")
    show("classification: task type, keywords", measure(classify))
    show("classification: published complexity", measure(complexity))
    show("classification: seven factors", measure(complexity_factors))
    router = build().router
    show("classification of a message (Router.classify)", await measure_async(router.classify), 20.0)
    for strategy in ("Priority", "Static", "Capability", "Tiered", "Intelligent", "CostAware"):
        services = build(Strategy=strategy, Tiers=TIERS, Model="a")
        profile, _ = await services.router.classify(TEXT)
        eligible, store = services.gateway.candidates(), services.store

        async def route(text: str, services: Services = services, profile: Any = profile) -> None:
            query = RouteQuery(text, profile=profile)
            await services.router.route(query, eligible, store)  # noqa: B023 - called before the next one

        show(f"routing of a classified message, {strategy}", await measure_async(route), 30.0)


if __name__ == "__main__":
    asyncio.run(measure_all())
