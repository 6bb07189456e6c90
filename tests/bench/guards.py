"""Cost of the guards per tool call: each alone, those that stand by default, and all: `python -m tests.bench.guards`.

CPU time of a turn with many rounds of one call of a tool that does nothing, with an argument of 200 characters and a
result of 1,000, beside the same chain without guards. Medians of interleaved repetitions.
"""

import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sophon import ModelRequest, ModelResponse, Pipeline, Services, ToolCall, tool
from sophon.settings import GuardsSettings
from sophon.testing import FunctionModel
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, ToolExecution
from sophon_middlewares.guards.insertion import add_guards

ROUNDS = 50
TURNS = 4
REPETITIONS = 9
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
        self._chain = bare if guards is None else add_guards(bare, self._services.settings.guards)

    async def _answer(self, _request: ModelRequest) -> ModelResponse:
        self._calls += 1
        if self._calls % (ROUNDS + 1) == 0:
            return ModelResponse("done")
        question = f"What is number {self._calls}? ".ljust(200, "x")
        return ModelResponse(tool_calls=[ToolCall(f"call{self._calls}", "lookup", {"question": question})])

    async def seconds_per_call(self) -> float:
        """Return the CPU time of a tool call, its round included, in seconds."""
        began = time.process_time()
        for _ in range(TURNS):
            await self._chain.run(self._services.turn("go"))
        return (time.process_time() - began) / (TURNS * ROUNDS)


def guard_settings() -> dict[str, dict[str, Any]]:
    """Return the settings of each chain to measure, by name."""
    names = {name: field.alias or name for name, field in GuardsSettings.model_fields.items()}
    off = {alias: {"Enabled": False} for alias in names.values()}
    chains = {alias: {**off, alias: {"Enabled": True}} for alias in names.values()}
    return {**chains, "by default": {}, "all": {alias: {"Enabled": True} for alias in names.values()}}


async def measure() -> None:
    """Print what each guard adds to a tool call, in microseconds."""
    with tempfile.TemporaryDirectory(prefix="bench-guards-") as folder:
        bare = GuardedTurns(Path(folder), None)
        chains = {name: GuardedTurns(Path(folder), guards) for name, guards in guard_settings().items()}
        samples: dict[str, list[float]] = {name: [] for name in chains}
        base: list[float] = []
        for _ in range(REPETITIONS):
            gc.collect()
            base.append(await bare.seconds_per_call())
            for name, chain in chains.items():
                gc.collect()
                samples[name].append(await chain.seconds_per_call())
    without = statistics.median(base) * 1e6
    print(f"a tool call without guards: {without:.0f} us")
    for name, found in samples.items():
        cost = statistics.median(after - before for after, before in zip(found, base, strict=True)) * 1e6
        print(f"  {name:<20}{cost:>+8.0f} us{(without + cost) / without:>7.2f}x")


if __name__ == "__main__":
    asyncio.run(measure())
