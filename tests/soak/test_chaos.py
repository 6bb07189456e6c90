"""Hosts of a group killed, stopped and cut off: nothing is lost, run twice or out of order; without a guarantee it is.

A small part of `python -m tests.soak.chaos`, on engines of its own. A run ends when all its tasks have their outcome,
however long a loaded machine takes.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests import postgres_cluster, rabbitmq_server, redis_server
from tests.soak.chaos.report import Report
from tests.soak.chaos.run import ChaosPlan, run_chaos

SMALL = ChaosPlan("Redis", 0, processes=3, sessions=6, messages=4, faults=5, poison=1)

FRUITLESS_RUNS = 4
"""How many seeds a run without a guarantee tries: whether a fault meets a turn is left to the operating system."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the user of PostgreSQL may enter, unlike `tmp_path`; kept if the test fails."""
    made = Path(tempfile.mkdtemp(prefix="sophon-chaos-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def require(backend: str) -> None:
    """Skip without the programs of a run; where SOPHON_CI is set the run itself then fails."""
    programs = {
        "PostgreSQL": postgres_cluster.find_programs,
        "Redis": redis_server.find_program,
        "RabbitMQ": rabbitmq_server.find_program,
    }
    needed = {"PostgreSQL", {"Redis": "Redis", "RabbitMq": "RabbitMQ"}.get(backend, "PostgreSQL")}
    missing = [name for name in sorted(needed) if programs[name]() is None]
    if missing and not os.environ.get("SOPHON_CI"):
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.mark.parametrize("backend", ["Redis", "RabbitMq", "Postgres"])
async def test_nothing_is_lost_run_twice_or_out_of_order(folder: Path, seed: int, backend: str) -> None:
    require(backend)
    report = await run_chaos(replace(SMALL, backend=backend, seed=seed), folder)
    assert not report.violations, explain(report, folder)


NEGATIVE = {
    "fence": ChaosPlan(
        "Redis", 0, processes=2, sessions=8, messages=3, faults=6, poison=0, effect_seconds=0.5, kinds=("hang",)
    ),
    "lease": ChaosPlan("Redis", 0, processes=2, sessions=2, messages=2, faults=0, poison=0, effect_seconds=4.0),
    "transaction": ChaosPlan("Redis", 0, processes=2, sessions=8, messages=6, faults=12, poison=0, kinds=("kill",)),
}


@pytest.mark.parametrize("guarantee", NEGATIVE)
async def test_without_a_guarantee_the_run_finds_violations(folder: Path, seed: int, guarantee: str) -> None:
    require("Redis")
    for number in range(FRUITLESS_RUNS):
        part = folder / str(number)
        part.mkdir()
        report = await run_chaos(replace(NEGATIVE[guarantee], seed=seed + number, without=guarantee), part)
        if report.violations:
            return
    pytest.fail(f"{FRUITLESS_RUNS} runs without the {guarantee} found nothing")


def explain(report: Report, folder: Path) -> str:
    """Return the table, and the end of what the hosts have logged."""
    return f"{report.render()}\n{(folder / 'errors.txt').read_text()[-20_000:]}"
