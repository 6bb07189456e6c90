"""Start of `sophon serve` on an existing SQLite store: time, CPU and memory, offline and with a provider over HTTP.

`python -m tests.bench.start` prints them beside an interpreter that imports asyncio, started in turn with it.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
    left_out = ("SOPHON", "OPENAI", "ANTHROPIC", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments),
        cwd=folder,
        env={**environment, "OLLAMA_HOST": "127.0.0.1:9"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        wall = time.monotonic() - began
        assert line, f"{arguments} did not start"
        cpu, ready = cpu_seconds(process.pid), resident_megabytes(process.pid)
        await asyncio.sleep(settled)
        return Start(wall * 1e3, cpu * 1e3, ready, resident_megabytes(process.pid))
    finally:
        process.terminate()
        await process.communicate()


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its threads, from `/proc/PID/stat`."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(pid: int) -> float:
    """Resident memory of a process, which a container is charged for."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


async def measure(line: Line, starts: int = STARTS) -> None:
    """Print each figure beside that of the bare interpreter."""
    serve = ("-m", "sophon_hosting.cli", "serve", "--port", "0")
    for kind, settings in KINDS.items():
        ours: list[Start] = []
        bare: list[Start] = []
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "appsettings.json").write_text(json.dumps({"Sophon": settings}))
            await measure_start(*serve, folder=folder, settled=0)  # creates the store
            for _ in range(starts):
                ours.append(await measure_start(*serve, folder=folder, settled=SETTLED_SECONDS))
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
