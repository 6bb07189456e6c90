"""Cost of the guards per tool call: each alone, those that stand by default, and all: `python -m tests.bench.guards`.

CPU time of a turn with many rounds of one call of a tool that does nothing, with an argument of 200 characters and a
result of 1,000, less that of the same chain without guards. The audit log is that in memory, which numbers, salts and
hashes its entries when it is read; what that takes is printed on its own. Of interleaved repetitions the fastest tenth
counts: what else runs on the machine only adds to the time. `python -m tests.bench.guards Shield "by default"` measures
these chains only.
"""

import asyncio
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sophon import ModelRequest, ModelResponse, Pipeline, Services, ToolCall, tool
from sophon.chain.placement import place
from sophon.settings import GuardsSettings
from sophon.testing import FunctionModel
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, ToolExecution
from sophon_middlewares.chains.additions import GUARD_ORDER, find_guards

ROUNDS = 50
REPETITIONS = 60
BARE = "no guards"
GOALS = {"by default": 100, "all": 300}
"""Microseconds: issue 13."""
UNLIMITED = {"CallsPerMinute": 1_000_000}
"""A call beyond the limit would be blocked, and cost less."""
RESULT = "The quick brown fox jumps over the lazy dog. " * 22


@tool(name="lookup")
async def lookup(question: str) -> str:
    """Look something up."""
    return RESULT


class GuardedTurns:
    """Turns of many tool calls through the inner zone, with the guards of the settings."""

    def __init__(self, folder: Path, guards: Mapping[str, Any] | None) -> None:
        self._calls = 0
        settings: dict[str, Any] = {"AgentExecution": {"MaxToolIterations": ROUNDS + 2}}
        if guards is not None:
            settings["Guards"] = guards
        self._services = Services(folder=folder, models=FunctionModel(self._answer), tools=[lookup], settings=settings)
        bare = Pipeline.compose(AgenticLoop(), ParallelExecution(), Approval(), ToolExecution(), LlmInvoker())
        self._chain = (
            bare if guards is None else place(bare, find_guards(self._services.settings.guards).values(), GUARD_ORDER)
        )

    async def _answer(self, _request: ModelRequest) -> ModelResponse:
        self._calls += 1
        if self._calls % (ROUNDS + 1) == 0:
            return ModelResponse("done")
        question = f"What is number {self._calls}? {RESULT}"[:200]
        return ModelResponse(tool_calls=[ToolCall(f"call{self._calls}", "lookup", {"question": question})])

    async def seconds_per_call(self) -> float:
        """Return the CPU time of a tool call, its round included, in seconds."""
        began = time.process_time()
        await self._chain.run(self._services.turn("go"))
        return (time.process_time() - began) / ROUNDS

    async def chaining_seconds_per_call(self) -> float:
        """Return the CPU time of hashing the audit entries of a call, which the log in memory does when it is read.

        A database does it in the thread that writes.
        """
        began = time.process_time()
        await self._services.store.audit.list_entries(limit=1)
        return (time.process_time() - began) / self._calls


def guard_settings() -> dict[str, dict[str, Any]]:
    """Return the settings of each chain to measure, by name."""
    names = [field.alias or name for name, field in GuardsSettings.model_fields.items()]
    off = {name: {"Enabled": False} for name in names}
    on: dict[str, dict[str, Any]] = {name: {"Enabled": True} for name in names}
    on["RateLimit"] |= UNLIMITED
    chains: dict[str, dict[str, Any]] = {name: {**off, name: on[name]} for name in names}
    return {**chains, "by default": {"RateLimit": UNLIMITED}, "all": on}


async def measure(names: Sequence[str] = ()) -> None:
    """Print what each guard adds to a tool call, in microseconds; with names, only for the chains of these names."""
    wanted = {name: guards for name, guards in guard_settings().items() if not names or name in names}
    with tempfile.TemporaryDirectory(prefix="bench-guards-") as folder:
        chains = {name: GuardedTurns(Path(folder), guards) for name, guards in {BARE: None, **wanted}.items()}
        samples: dict[str, list[float]] = {name: [] for name in chains}
        for chain in chains.values():
            await chain.seconds_per_call()  # compiles the patterns
        gc.collect()
        gc.freeze()
        for _ in range(REPETITIONS):
            for name, chain in chains.items():
                samples[name].append(await chain.seconds_per_call())
    chaining = await chains["by default"].chaining_seconds_per_call() if "by default" in chains else 0.0
    without = fastest_tenth(samples.pop(BARE)) * 1e6
    print(f"a tool call without guards: {without:.0f} us")
    for name, found in samples.items():
        cost = fastest_tenth(found) * 1e6 - without
        goal = f"   goal: at most {GOALS[name]} us" if name in GOALS else ""
        print(f"  {name:<20}{cost:>+8.0f} us{(without + cost) / without:>7.2f}x{goal}")
        if name == "by default":
            print(f"  and to chain its audit entries, where they are stored: {chaining * 1e6:.0f} us")


def fastest_tenth(samples: Sequence[float]) -> float:
    """Return the first decile."""
    return statistics.quantiles(samples, n=10)[0]


if __name__ == "__main__":
    asyncio.run(measure(sys.argv[1:]))
