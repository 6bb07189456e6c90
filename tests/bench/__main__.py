"""`make bench`: each figure beside a baseline of the same run; medians of interleaved repetitions.

`python -m tests.bench NAME...` measures some parts, `--list` lists them with their baselines, `--quick` tries them.

Times are CPU times of this process, so that a busy machine disturbs them less; the ratio is what counts.
"""

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

from tests.bench import (
    baseline,
    chains,
    client_requests,
    commits,
    concurrent,
    fanout,
    guards,
    histories,
    hosted,
    learning,
    mcp_calls,
    mcp_client_calls,
    memory,
    pages,
    postgres_queue,
    prompt_cache,
    queue_backends,
    queueing,
    resident_memory,
    round_trips,
    routing,
    skills,
    start,
    store_writers,
    token_flow,
    traces,
)
from tests.bench import hubs as hub_servers
from tests.bench.workloads import Streamed, Twelve, layers

REPETITIONS = 7
CROWD = 1000
Work = Callable[[], Awaitable[object]]


async def seconds(work: Work, times: int) -> float:
    """CPU seconds per call."""
    began = time.process_time()
    for _ in range(times):
        await work()
    return (time.process_time() - began) / times


async def medians(works: dict[str, tuple[Work, int]]) -> dict[str, float]:
    """Median seconds per call of each, one after the other within every repetition."""
    samples: dict[str, list[float]] = {name: [] for name in works}
    for work, times in works.values():
        await seconds(work, max(1, times // 10))
    for _ in range(REPETITIONS):
        for name, (work, times) in works.items():
            gc.collect()
            samples[name].append(await seconds(work, times))
    return {name: statistics.median(values) for name, values in samples.items()}


def line(what: str, ours: float, unit: str, against: str, base: float, *, digits: int = 1) -> None:
    """One figure beside its baseline."""
    print(
        f"{what:<58}{ours:>10.{digits}f} {unit:<6}{against:<32}{base:>9.{digits}f} {unit:<6}{ours / base:>7.{digits}f}x"
    )


async def added_layer() -> None:
    """What one more layer costs a turn, from the difference of 112 and 12 layers."""
    works: dict[str, tuple[Work, int]] = {}
    for count in (12, 112):
        services, pipeline = layers(count)
        raw = baseline.layered(count)
        works[f"ours {count}"] = (lambda p=pipeline, s=services: p.run(s.turn("x")), 2000)
        works[f"raw {count}"] = (lambda r=raw: r({}), 2000)
    found = await medians(works)
    ours, raw_ns = ((found[f"{who} 112"] - found[f"{who} 12"]) / 100 * 1e9 for who in ("ours", "raw"))
    line("one added no-op layer, per turn", ours, "ns", "a hand-written await", raw_ns)


async def turns() -> None:
    """The twelve, once through."""
    plain, equipped, long = Twelve(), Twelve(tools=100), Twelve(history=1000)
    found = await medians(
        {
            "raw": (baseline.Loop(0).run, 5000),
            "twelve": (plain.turn, 1000),
            "equipped": (equipped.turn, 1000),
            "long": (long.turn, 300),
        }
    )
    raw = found["raw"] * 1e6
    line("one turn of the twelve", found["twelve"] * 1e6, "us", "12 bare layers, bare loop", raw)
    line("one turn with 100 tools", found["equipped"] * 1e6, "us", "12 bare layers, bare loop", raw)
    line("one turn behind a history of 1,000 messages", found["long"] * 1e6, "us", "12 bare layers, bare loop", raw)


async def rounds() -> None:
    """A round of one tool call, in turns of 10, 100 and 300 rounds: it must not grow."""
    works: dict[str, tuple[Work, int]] = {}
    for count in (10, 100, 300):
        works[f"ours {count}"] = (Twelve(rounds=count).turn, max(2, 600 // count))
        works[f"raw {count}"] = (baseline.Loop(count).run, max(4, 3000 // count))
    found = await medians(works)
    line("a turn of 10 rounds", found["ours 10"] * 1e6, "us", "12 bare layers, bare loop", found["raw 10"] * 1e6)
    for count in (10, 100, 300):
        ours, raw = (found[f"{who} {count}"] / count * 1e6 for who in ("ours", "raw"))
        line(f"a tool round, in a turn of {count} rounds", ours, "us", "bare loop", raw)


async def streams() -> None:
    """A streamed turn of one piece that somebody hears; and a piece, from the difference of 1,001 pieces and one.

    Not of none: an empty reply is asked for twice again.
    """
    works: dict[str, tuple[Work, int]] = {}
    for count, times in ((1, 500), (1001, 20)):
        works[f"ours {count}"] = (Streamed(count).turn, times)
        works[f"raw {count}"] = (baseline.Stream(count).run, times * 10)
    found = await medians(works)
    line("a streamed turn of one chunk", found["ours 1"] * 1e6, "us", "12 bare layers", found["raw 1"] * 1e6)
    ours, raw = ((found[f"{who} 1001"] - found[f"{who} 1"]) * 1e3 for who in ("ours", "raw"))
    line("a streamed chunk, heard", ours, "us", "a bare callback", raw)


async def crowds() -> None:
    """1,000 turns at once."""
    speeds: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(REPETITIONS):
        for name, crowd in (("ours", concurrent.ours), ("bare", concurrent.bare)):
            speeds[name].append(await concurrent.per_second(crowd, CROWD))
    ours, bare = (statistics.median(each) for each in speeds.values())
    line("1,000 turns at once, turns a second", ours, "", "12 bare layers, bare loop", bare)
    sizes = [await concurrent.kilobytes(crowd, CROWD) for crowd in (concurrent.ours, concurrent.bare)]
    line("memory of a turn in flight", sizes[0], "KB", "12 bare layers, bare loop", sizes[1])


async def caching() -> None:
    """The input that a provider with a prompt cache finds in it, over twenty turns of one session."""
    kinds = {"by itself": prompt_cache.OpenAIProvider(), "where it is marked": prompt_cache.AnthropicProvider()}
    for how, provider in kinds.items():
        cached, repeated = await prompt_cache.cached_share(provider)
        name = f"input found in a cache that fills {how}, twenty turns"
        line(name, cached * 100, "%", "all that repeats", repeated * 100)


async def queue() -> None:
    """One task through the queue, an empty one and one behind 90 others: it must not grow."""
    works: dict[str, tuple[Work, int]] = {}
    for waiting in (0, 90):
        works[f"ours {waiting}"] = (queueing.Ours(waiting).task, 5000)
        works[f"raw {waiting}"] = (queueing.Plain(waiting).task, 5000)
    found = await medians(works)
    for waiting in (0, 90):
        ours, raw = (found[f"{who} {waiting}"] * 1e6 for who in ("ours", "raw"))
        line(f"a task through the queue, behind {waiting} others", ours, "us", "asyncio.Queue, no lanes", raw)


HINTS = 1000


async def fan_out() -> None:
    """How long a hint takes from one host process to another."""
    for engine, (ours, bare) in (await fanout.engines()).items():
        samples: dict[str, list[float]] = {"ours": [], "bare": []}
        for _ in range(3):
            samples["ours"] += await ours(HINTS)
            samples["bare"] += await bare(HINTS)
        for name, share in (("median", 0.5), ("95th percentile", 0.95)):
            found = {who: fanout.percentile(each, share) for who, each in samples.items()}
            line(f"a hint over {engine}, {name}", found["ours"], "ms", "the bare client", found["bare"])


MESSAGES = 400
HOST_GOAL = 0.8
"""Speed of a host on SQLite by that of its chain alone, which it is to reach (issue 17)."""


async def hosts() -> None:
    """Messages a second through a host, and the part of the time that the host adds to its chain."""
    for store in hosted.STORES:
        samples: dict[str, list[float]] = {"host": [], "chain": []}
        async with hosted.Hosted(store) as here:
            for _ in range(REPETITIONS):
                samples["host"].append(await here.messages(MESSAGES))
                samples["chain"].append(await here.turns(MESSAGES))
        whole, chain = (statistics.median(each) for each in samples.values())
        line(f"messages a second, store: {store}", 1 / whole, "", "the chain alone", 1 / chain)
        share = statistics.median(1 - b / a for a, b in zip(samples["host"], samples["chain"], strict=True))
        print(f"{f'share of it that is the host, store: {store}':<58}{share * 100:>10.0f} %")
        ratio = statistics.median(b / a for a, b in zip(samples["host"], samples["chain"], strict=True))
        line(f"speed of the host by that of the chain, store: {store}", ratio, "", "the goal", HOST_GOAL, digits=2)


async def hubs() -> None:
    """Over Socket.IO, beside the bare library; the clients are in another process."""
    kinds = {"ours": hub_servers.ours, "bare": hub_servers.bare}
    for clients, chunks in ((1, 4000), (100, 400)):
        found = {
            name: statistics.median([await hub_servers.chunk_seconds(kind, clients, chunks) for _ in range(3)])
            for name, kind in kinds.items()
        }
        whom = "1 client" if clients == 1 else f"{clients} clients"
        line(f"chunks a second of CPU, to {whom}", 1 / found["ours"], "", "bare python-socketio", 1 / found["bare"])
    first = {name: await hub_servers.first_chunk_seconds(kind, 100) * 1e3 for name, kind in kinds.items()}
    line("from send to the first chunk", first["ours"], "ms", "bare python-socketio", first["bare"])
    held = {name: await hub_servers.client_kilobytes(kind, 200) for name, kind in kinds.items()}
    line("memory of an idle client", held["ours"], "KB", "bare python-socketio", held["bare"])
    print(f"{'memory of an idle session':<58}{await hosted.session_kilobytes(2000):>10.2f} KB")


IMPORTS = (
    "import sophon",
    "from sophon import Pipeline",
    "from sophon import Services; Services()",
    "from sophon import Services; from sophon_middlewares.chains import twelve; twelve(Services())",
)
TIME = "import time; print(time.process_time() * 1000)"
MEMORY = "print(int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024)"
"""The peak of resident memory, as Linux tells it."""


def imports() -> None:
    """A fresh interpreter each time. `sophon` loads a name when it is first asked for, so what is asked for counts."""
    for what, unit, code in (("time", "ms", TIME), ("memory", "MB", MEMORY)):
        bare = _median("import asyncio", code)
        for statement in IMPORTS:
            line(f"{statement}, {what}", _median(statement, code), unit, "import asyncio", bare)


def _median(statement: str, code: str) -> float:
    return statistics.median(_ask(f"{statement}\n{code}") for _ in range(REPETITIONS))


def _ask(code: str) -> float:
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


async def import_times() -> None:
    """As a part."""
    imports()


async def choice_of_skills() -> None:
    """As a part."""
    skills.main()


Part = tuple[str, Callable[[], Awaitable[object]]]

PARTS: dict[str, Part] = {
    "layer": ("a hand-written await", added_layer),
    "turns": ("12 bare layers, bare loop", turns),
    "rounds": ("12 bare layers, bare loop", rounds),
    "streams": ("12 bare layers, a bare callback", streams),
    "crowds": ("12 bare layers, bare loop", crowds),
    "prompt_cache": ("all input that repeats", caching),
    "queue": ("asyncio.Queue, no lanes", queue),
    "fan_out": ("the bare client on the same server", fan_out),
    "postgres_queue": ("bare psycopg, the same calls", lambda: postgres_queue.measure(line)),
    "hosts": ("the chain alone", hosts),
    "guards": ("the same turn without guards", guards.measure),
    "chains": ("the chain twelve", chains.measure),
    "learning": ("the same turn without learning", learning.measure_all),
    "routing": ("the other strategies and the oracle", routing.measure),
    "memory": ("words only, the turn without memory", memory.measure_parts),
    "skills": ("the published rule (its worth)", choice_of_skills),
    "commits": ("bare commits of SQLite", lambda: commits.measure(line)),
    "store_writers": ("three bare commits each", lambda: store_writers.measure(line)),
    "round_trips": ("bare writes in transactions of their own", lambda: round_trips.measure(line)),
    "histories": ("an empty history", histories.measure),
    "hubs": ("bare python-socketio", hubs),
    "requests": ("bare aiohttp, the same bytes", lambda: client_requests.measure(line)),
    "token_flow": ("a bare reader of the same stream", token_flow.measure),
    "queue_backends": ("the bare clients", queue_backends.measure),
    "pages": ("the target", pages.measure),
    "resident_memory": ("the same host before", resident_memory.measure),
    "traces": ("the host without traces (off)", traces.measure_all),
    "mcp_calls": ("the bare SDK", mcp_calls.main),
    "mcp_client_calls": ("the bare SDK", mcp_client_calls.main),
    "start": ("import asyncio", lambda: start.measure(line)),
    "imports": ("import asyncio", import_times),
}
"""The parts of `make bench` by name, in order: what each is measured beside, and what measures it."""

QUICK = {
    "REPETITIONS": 1,
    "ROUNDS": 2,
    "CALLS": 5,
    "TURNS": 5,
    "MESSAGES": 20,
    "CROWD": 20,
    "SIZES": (1000,),
    "PROCESSES": (1,),
}
"""Values of the constants of the parts with `--quick`, which only shows that each runs."""


def make_quick() -> None:
    """Let each part measure little. Its figures then say nothing."""
    here = sys.modules[__name__]
    for module in (
        here,
        chains,
        client_requests,
        histories,
        mcp_calls,
        mcp_client_calls,
        memory,
        postgres_queue,
        queue_backends,
        round_trips,
        skills,
        store_writers,
        traces,
    ):
        for name, value in QUICK.items():
            if hasattr(module, name):
                setattr(module, name, value)


async def run_parts(names: Sequence[str]) -> list[str]:
    """Print the parts; return the names of those that broke off, after which the others went on."""
    failed: list[str] = []
    for name in names:
        against, measure = PARTS[name]
        print(f"-- {name}, beside: {against}", flush=True)
        try:
            await measure()
        except Exception as error:
            failed.append(name)
            print(f"{name} broke off: {type(error).__name__}: {error}", flush=True)
    return failed


def main(arguments: Sequence[str]) -> int:
    """Measure all parts, in about ten minutes, or those named; `--list` names them, `--quick` only tries them."""
    options = {each for each in arguments if each.startswith("--")}
    names = [each for each in arguments if each not in options] or list(PARTS)
    unknown = sorted((options - {"--list", "--quick"}) | (set(names) - set(PARTS)))
    if unknown:
        print(f"unknown: {', '.join(unknown)}; the parts are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    if "--list" in options:
        for name in names:
            print(f"{name:<18}beside: {PARTS[name][0]}")
        return 0
    if "--quick" in options:
        make_quick()
    print(f"{'':<58}{'Sophon':>10} {'':<6}{'beside':<32}{'':>9} {'':<6}{'ratio':>8}")
    failed = asyncio.run(run_parts(names))
    if failed:
        print(f"broke off: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
