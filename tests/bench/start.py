"""Start of `sophon serve` on an existing SQLite store: time, CPU and memory, offline and with a provider over HTTP.

`python -m tests.bench.start` prints them beside an interpreter that imports asyncio, started in turn with it.
"""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.programs import SERVE, started

STARTS = 5
SETTLED_SECONDS = 4.0
"""Time after the start within which the host has loaded what it loads in the background, such as the tokenizer."""

PROVIDER = {"Id": "bench", "Type": "openai_compatible", "BaseUrl": "http://127.0.0.1:9/v1", "Models": ["bench-model"]}
KINDS = {"offline": {}, "with a provider": {"Providers": [PROVIDER]}}
BARE = "import asyncio; print('ready', flush=True); asyncio.run(asyncio.Event().wait())"
Line = Callable[[str, float, str, str, float], None]


@dataclass(frozen=True)
class Start:
    """One start: milliseconds and CPU milliseconds until it was ready, resident MB then and when it had settled."""

    wall: float
    cpu: float
    ready: float
    settled: float


async def measure_start(*arguments: str, folder: str, settled: float) -> Start:
    """Start Python with the arguments, wait until it prints a line, then for `settled` seconds, and end it."""
    began = time.monotonic()
    async with started(*arguments, folder=folder) as program:
        wall = time.monotonic() - began
        cpu, ready = program.cpu_seconds(), program.megabytes()
        await asyncio.sleep(settled)
        return Start(wall * 1e3, cpu * 1e3, ready, program.megabytes())


async def measure(line: Line, starts: int = STARTS) -> None:
    """Print each figure beside that of the bare interpreter."""
    for kind, settings in KINDS.items():
        ours: list[Start] = []
        bare: list[Start] = []
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "appsettings.json").write_text(json.dumps({"Sophon": settings}))
            await measure_start(*SERVE, folder=folder, settled=0)  # creates the store
            for _ in range(starts):
                ours.append(await measure_start(*SERVE, folder=folder, settled=SETTLED_SECONDS))
                bare.append(await measure_start("-c", BARE, folder=folder, settled=0))
        for what, unit, get in (
            ("to ready", "ms", lambda each: each.wall),
            ("to ready, CPU", "ms", lambda each: each.cpu),
            ("memory when ready", "MB", lambda each: each.ready),
            ("memory when settled", "MB", lambda each: each.settled),
        ):
            figures = (statistics.median(map(get, each)) for each in (ours, bare))
            line(f"serve {kind}, {what}", next(figures), unit, "import asyncio", next(figures))


async def main() -> None:
    """Print the figures of the start alone."""
    await measure(lambda what, found, unit, _, bare: print(f"{what:<44}{found:>8.1f} {unit}  (bare {bare:.1f})"))


if __name__ == "__main__":
    asyncio.run(main())
