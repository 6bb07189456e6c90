"""Histories of hosts: the same seed is the same history, seeds hold, and each guarantee that is taken out is missed."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.simulation import checks
from tests.simulation.history import History, run_history
from tests.simulation.mutations import MUTATIONS, mutated
from tests.simulation.plan import FAULTS_OF_SEVERAL, Plan
from tests.simulation.program import describe_plan, main
from tests.simulation.shrinking import shorten

SMALL = {"messages": 12, "faults": 4}

SEEDS_OF_FORMER_DEFECTS: dict[int, str] = {}
"""Histories that have broken a promise, by what was wrong."""


FOUND_SOON = (
    "start of a call in the journal",
    "checkpoint before a tool",
    "outbox in the transaction of the outcome",
    "final events in the transaction of the outcome",
    "ack behind the commit",
    "recovery at the start",
    "key of a message",
    "first decision counts",
    "owner check",
    "events that were missed",
    "mark of a repetition",
)
"""Mutations that one of a few seeds finds; `make simulate` has all of them in docs/proof.md."""

MOST_SEEDS = 60

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # coroutines of the dead are never awaited


@pytest.fixture(autouse=True)
def _without_log() -> Iterator[None]:
    """A record keeps the traceback of its error, and with it the world in which that happened."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


RUN_ELSEWHERE = """
import sys
from tests.simulation.history import run_history
from tests.simulation.plan import Plan
from tests.simulation.program import prepare_worker
prepare_worker()
for seed in map(int, sys.argv[1:]):
    history = run_history(Plan.draw(seed))
    print(seed, len(history.journal), history.callbacks, history.digest)
"""


def run_elsewhere(seeds: Sequence[int], hash_seed: str) -> set[str]:
    """Fingerprints of histories that run one after the other in a process of their own."""
    command = [sys.executable, "-c", RUN_ELSEWHERE, *map(str, seeds)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path.cwd())}
    return {*subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()}


def test_a_history_is_the_same_in_any_process_and_behind_any_others() -> None:
    seeds = (1189, 5, 108)
    first = run_elsewhere(seeds, "1")
    assert len(first) == len(seeds)
    assert run_elsewhere(seeds[::-1], "2") == first
    assert run_elsewhere(seeds[:1], "3") < first


@pytest.mark.parametrize("hosts", [1, 2, 3, 5])
def test_hosts_keep_their_promises(hosts: int) -> None:
    for seed in range(3):
        assert run_history(Plan.draw(100 * hosts + seed, hosts=hosts)).violations == []


def test_what_was_broken_once_holds() -> None:
    for seed, what in SEEDS_OF_FORMER_DEFECTS.items():
        assert run_history(Plan.draw(seed)).violations == [], what


@pytest.mark.parametrize("name", FOUND_SOON)
def test_a_guarantee_that_is_taken_out_is_missed(name: str) -> None:
    [mutation] = [each for each in MUTATIONS if each.name == name]
    for seed in range(MOST_SEEDS):
        with mutated(mutation):
            if run_history(Plan.draw(seed)).violations:
                break
    else:
        pytest.fail(f"{MOST_SEEDS} histories without {name} break nothing")
    assert run_history(Plan.draw(seed)).violations == []


def test_a_plan_is_of_its_seed_and_can_be_shortened() -> None:
    plan = Plan.draw(3)
    assert plan == Plan.draw(3)
    assert plan != Plan.draw(4)
    shorter = plan.keep(messages=[1, 3], faults=[])
    assert ([each.number for each in shorter.messages], shorter.faults) == ([1, 3], [])
    assert describe_plan(shorter) == "python -m tests.simulation 3 --faults none --messages 1,3"
    assert describe_plan(plan) == "python -m tests.simulation 3"


def test_every_fault_is_drawn() -> None:
    drawn = {fault.kind for seed in range(60) for fault in Plan.draw(seed, hosts=3).faults}
    assert drawn == {*FAULTS_OF_SEVERAL}


def test_a_violation_is_shortened_to_what_it_needs() -> None:
    def run(plan: Plan) -> History:
        faults, messages = {each.number for each in plan.faults}, {each.number for each in plan.messages}
        return History(plan, ["broken"] if 7 in faults and {2, 30} <= messages else [], [])

    found = shorten(run(Plan.draw(1)), run)
    assert [each.number for each in found.plan.faults] == [7]
    assert [each.number for each in found.plan.messages] == [2, 30]


def test_the_program_prints_the_seed_the_history_and_how_to_repeat_it(capsys: pytest.CaptureFixture[str]) -> None:
    owner = next(each for each in MUTATIONS if each.name == "owner check")
    with mutated(owner):
        assert main([str(owner.seed)]) == 1
    told = capsys.readouterr().out
    assert "broken: a stranger reaches" in told
    assert "serves" in told


def test_every_check_says_which_promise_it_is_of() -> None:
    assert all((check.__doc__ or "").endswith(".") for check in checks.CHECKS)
