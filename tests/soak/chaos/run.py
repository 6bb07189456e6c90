"""A chaos run: hosts on one store and one queue, which are killed, stopped and cut off while they work."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from sophon import Services
from sophon._python.lazy_dataclass import dataclass
from sophon.stores.contract import Store
from sophon_hosting.queue.queue_factory import build_queue
from sophon_hosting.store.factory import host_store_from_url
from tests.soak.chaos.engines import Engines
from tests.soak.chaos.faults import Fault, FaultKind, draw_faults
from tests.soak.chaos.host_process import ERRORS_FILE, HostProcess, Lines
from tests.soak.chaos.report import Report, examine

POLL_SECONDS = 0.25
LINES_PER_TASK = 6
"""About how many lines a task brings, by which the faults are spread."""

CLOCK_SKEWS_SECONDS = (0.0, 0.0, -3600.0, 3600.0)
"""How far the clocks of the hosts are wrong."""

USUAL_KINDS: tuple[FaultKind, ...] = tuple(kind for kind in get_args(FaultKind) if kind != "flush the queue")
"""All faults that each engine survives; only Redis may be told to forget."""

CONTINUED_ELSEWHERE = "continued elsewhere"
"""What a host logs whose write was refused, because its turn has been started again."""


@dataclass(frozen=True, slots=True)
class ChaosPlan:
    """What a run does. `poison` is how many messages kill the process that answers them.

    `kinds` are the faults that happen, `without` is the guarantee that is taken out of the hosts.
    """

    backend: str
    seed: int
    processes: int = 8
    sessions: int = 100
    messages: int = 10
    faults: int = 40
    poison: int = 3
    lease_seconds: int = 2
    max_deliveries: int = 8
    effect_seconds: float = 0.02
    limit_seconds: float = 600.0
    kinds: tuple[FaultKind, ...] = USUAL_KINDS
    without: str = ""


async def run_chaos(plan: ChaosPlan, folder: Path) -> Report:
    """Run a plan in an empty folder.

    Raises TimeoutError if the work has no end within its limit; what each host then waits for is in `errors.txt`.
    """
    for name in ("effects.txt", ERRORS_FILE):
        (folder / name).touch()
    chance = random.Random(plan.seed)
    sessions = {f"s{n}": [f"s{n}/{number}" for number in range(plan.messages)] for n in range(plan.sessions)}
    poison = frozenset(chance.sample([text for texts in sessions.values() for text in texts], plan.poison))
    begun = time.monotonic()
    async with Engines(plan.backend, folder) as engines:
        store = host_store_from_url(engines.store.url, folder=folder)
        await store.open()
        try:
            happened = await _work(plan, chance, engines, store, sessions, poison, folder)
            dead_letters = await _list_dead_letters(plan, engines)
            has_forgotten = happened.get("faults: flush the queue", 0) > 0
            report = await examine(store, folder, sessions, poison, None if has_forgotten else dead_letters)
        finally:
            await store.close()
    if not plan.faults and not plan.poison and (again := happened["turns continued elsewhere"]):
        report.doubled.append(f"{again} turns were run again although no worker was lost")
    report.counts |= happened | {"seconds": round(time.monotonic() - begun)}
    return report


async def _work(
    plan: ChaosPlan,
    chance: random.Random,
    engines: Engines,
    store: Store,
    sessions: Mapping[str, Sequence[str]],
    poison: frozenset[str],
    folder: Path,
) -> dict[str, int]:
    """Let the hosts do all there is to do, with faults meanwhile; return counts of what happened."""
    lines = Lines()
    order: dict[str, object] = {
        "folder": str(folder),
        "store": engines.store_url,
        "backend": plan.backend,
        "queue": engines.queue_url,
        "lease_seconds": plan.lease_seconds,
        "max_deliveries": plan.max_deliveries,
        "effect_seconds": plan.effect_seconds,
        "messages": plan.messages,
        "poison": sorted(poison),
        "without": plan.without,
    }
    hosts = [
        HostProcess(
            {**order, "skew_seconds": chance.choice(CLOCK_SKEWS_SECONDS)},
            [*sessions][number :: plan.processes],
            folder,
            lines,
        )
        for number in range(plan.processes)
    ]
    total = plan.sessions * plan.messages
    faults = draw_faults(
        chance,
        plan.faults,
        processes=plan.processes,
        lines=total * LINES_PER_TASK,
        lease_seconds=plan.lease_seconds,
        kinds=plan.kinds,
    )
    happening: set[asyncio.Task[None]] = set()
    done: Counter[str] = Counter()

    async def happen_in_turn() -> None:
        # RabbitMQ killed in the midst of declaring a quorum queue has it without a leader for ever (3.10.8).
        await lines.until_told("effect")
        for fault in faults:
            await lines.until(lines.count + fault.after)
            happening.add(asyncio.create_task(_happen(fault, engines, hosts)))
            done[fault.kind] += 1

    trouble = asyncio.create_task(happen_in_turn())
    try:
        async with asyncio.timeout(plan.limit_seconds):
            while not await _is_over(store, total):
                await asyncio.sleep(POLL_SECONDS)
                for host in hosts:
                    host.keep_running()
        trouble.cancel()
        await asyncio.gather(trouble, *happening, return_exceptions=True)
        codes = await asyncio.gather(*(asyncio.to_thread(host.stop) for host in hosts))
    except TimeoutError:
        for host in hosts:
            host.send_signal(signal.SIGCONT)
            host.send_signal(signal.SIGUSR1)
        await asyncio.sleep(POLL_SECONDS)
        raise
    finally:
        trouble.cancel()
        for host in hosts:
            host.kill()
    refused = (folder / ERRORS_FILE).read_text().count(CONTINUED_ELSEWHERE)
    return {
        "accepted": total,
        "processes started": sum(host.starts for host in hosts),
        "processes that did not end by themselves": sum(code != 0 for code in codes),
        "turns continued elsewhere": refused,
        **{f"faults: {kind}": count for kind, count in sorted(done.items())},
    }


async def _is_over(store: Store, total: int) -> bool:
    try:
        return len(await store.runs.list(limit=total, whole=False)) == total and not await store.runs.list_unfinished()
    except Exception:
        return False


async def _happen(fault: Fault, engines: Engines, hosts: Sequence[HostProcess]) -> None:
    host = hosts[fault.target]
    match fault.kind:
        case "kill":
            host.send_signal(signal.SIGKILL)
        case "hang":
            host.send_signal(signal.SIGSTOP)
            await asyncio.sleep(fault.seconds)
            host.send_signal(signal.SIGCONT)
        case "restart the queue":
            await engines.restart(engines.queue, fault.seconds)
        case "restart the store":
            await engines.restart(engines.store, fault.seconds)
        case "cut the queue off":
            await engines.cut(engines.queue_proxy, fault.seconds)
        case "cut the store off":
            await engines.cut(engines.store_proxy, fault.seconds)
        case "flush the queue":
            await engines.flush_queue()


async def _list_dead_letters(plan: ChaosPlan, engines: Engines) -> set[str]:
    settings = {"Queue": {"Backend": plan.backend, "Url": engines.queue.url}, "Store": {"Url": engines.store.url}}
    queue = build_queue(Services(settings=settings), is_shared=True)
    await queue.open()
    try:
        return {letter.entry.task_id for letter in await queue.list_dead_letters()}
    finally:
        await queue.close()
