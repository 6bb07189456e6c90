"""Many turns in flight at once: how many a second, and what each of them takes of memory meanwhile."""

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Awaitable, Callable

from sophon import Services
from sophon_middlewares.chains import twelve
from tests.bench import baseline
from tests.bench.workloads import WaitingModel

Turn = Callable[[], Awaitable[object]]
Crowd = Callable[[], tuple[Turn, asyncio.Event]]
"""Makes what one turn is, and the gate that lets all of them end."""


def ours() -> tuple[Turn, asyncio.Event]:
    """Turns of the twelve."""
    model = WaitingModel()
    services = Services(models=model)
    pipeline = twelve(services)
    return lambda: pipeline.run(services.turn("hello")), model.gate


def bare() -> tuple[Turn, asyncio.Event]:
    """Turns of the bare loop."""
    gate = asyncio.Event()
    return baseline.Loop(0, gate).run, gate


async def per_second(crowd: Crowd, turns: int) -> float:
    """Turns per second of CPU time, all begun before the first ends."""
    turn, gate = crowd()
    gc.collect()
    began = time.process_time()
    tasks = [asyncio.ensure_future(turn()) for _ in range(turns)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)
    return turns / (time.process_time() - began)


async def kilobytes(crowd: Crowd, turns: int) -> float:
    """What a turn holds while its model is asked, its task included; what is made once was made before."""
    first, opened = crowd()
    opened.set()
    await first()
    turn, gate = crowd()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tasks = [asyncio.ensure_future(turn()) for _ in range(turns)]
    await asyncio.sleep(0)
    during, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    gate.set()
    await asyncio.gather(*tasks)
    return (during - before) / turns / 1024
