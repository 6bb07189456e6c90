"""Program of `make simulate`: histories of many seeds over several processes, and a report of what they break."""

import argparse
import gc
import logging
import os
import random
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from multiprocessing import Pool

from tests.simulation.history import History, run_history
from tests.simulation.plan import FAULTS, MESSAGES, Plan
from tests.simulation.shrinking import shorten

PROGRAM = "python -m tests.simulation"

PROGRESS_EVERY = 100
"""Histories after which a line says how far it is."""


def prepare_worker() -> None:
    """Prepare a process: what all histories share is loaded by a first one, and never looked at as garbage again."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")  # of coroutines that were never awaited, because their process is dead
    run_history(Plan.draw(0, messages=5, faults=0))
    gc.collect()
    gc.freeze()


def _run_seed(seed: int) -> History:
    return run_history(Plan.draw(seed))


def run_seeds(seeds: Sequence[int], processes: int) -> Iterator[History]:
    """Yield the history of each seed, as they end."""
    with Pool(processes, prepare_worker) as pool:
        yield from pool.imap_unordered(_run_seed, seeds)


def describe_plan(plan: Plan) -> str:
    """Return the command that repeats the history of a plan."""
    faults = ",".join(str(each.number) for each in plan.faults)
    messages = ",".join(str(each.number) for each in plan.messages)
    parts = [PROGRAM, str(plan.seed)]
    if len(plan.faults) < FAULTS:
        parts += ["--faults", faults or "none"]
    if len(plan.messages) < MESSAGES:
        parts += ["--messages", messages or "none"]
    return " ".join(parts)


def report_violation(history: History) -> str:
    """Return the seed, what is broken, the history, and the command that repeats it."""
    return "\n".join(
        (
            f"seed {history.plan.seed} ({history.plan.hosts} hosts) breaks:",
            *(f"  {each}" for each in history.violations),
            f"with {len(history.plan.messages)} messages and the faults "
            f"{', '.join(each.kind for each in history.plan.faults) or 'none'}:",
            *(f"  {each}" for each in history.journal),
            f"repeat it: {describe_plan(history.plan)}",
        )
    )


def repeat(plan: Plan) -> int:
    """Run one history and print it; return 1 if it breaks something."""
    prepare_worker()
    history = run_history(plan)
    print("\n".join(history.journal))
    print(f"{history.callbacks} callbacks in {history.seconds:.0f} virtual seconds; digest {history.digest}")
    for each in history.violations:
        print(f"broken: {each}")
    return int(bool(history.violations))


def search(first: int, count: int, processes: int) -> int:
    """Run the histories of many seeds; shorten and print the first one that breaks something."""
    print(f"{count} seeds from {first} on {processes} processes")
    began, broken = time.perf_counter(), list[History]()
    messages = faults = hosts = done = 0
    seconds = 0.0
    for history in run_seeds(range(first, first + count), processes):
        done += 1
        messages += len(history.plan.messages)
        faults += len(history.plan.faults)
        hosts += history.plan.hosts
        seconds += history.seconds
        if done % PROGRESS_EVERY == 0:
            print(f"{done} histories in {time.perf_counter() - began:.0f} s, {len(broken)} of them broken", flush=True)
        if history.violations:
            broken.append(history)
            print(f"seed {history.plan.seed}: {history.violations[0]}", flush=True)
    took = time.perf_counter() - began
    print(
        f"{done} histories of {hosts / done:.1f} hosts: {messages} messages and {faults} faults in "
        f"{seconds / 3600:.0f} virtual hours and {took:.0f} s: {done / took:.1f} histories, "
        f"{messages / took:.0f} messages and {faults / took:.0f} faults per second"
    )
    if not broken:
        print("nothing is broken")
        return 0
    prepare_worker()
    print(f"{len(broken)} histories break something; the first one, shortened:")
    print(report_violation(shorten(min(broken, key=lambda each: each.plan.seed))))
    return 1


def _numbers(text: str) -> list[int]:
    return [] if text == "none" else [int(each) for each in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description="Run simulated histories of hosts.")
    parser.add_argument("seed", type=int, nargs="?", help="run this history, and print it")
    parser.add_argument("--faults", type=_numbers, help="with these faults of its plan only")
    parser.add_argument("--messages", type=_numbers, help="with these messages only")
    parser.add_argument("--seeds", type=int, default=1000, help="run so many histories")
    parser.add_argument("--first", type=int, help="from this seed; by default a new one")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    if options.seed is not None:
        return repeat(Plan.draw(options.seed).keep(options.messages, options.faults))
    first = options.first if options.first is not None else random.SystemRandom().randrange(10**6) * 1000
    return search(first, options.seeds, options.processes)


if __name__ == "__main__":
    sys.exit(main())
