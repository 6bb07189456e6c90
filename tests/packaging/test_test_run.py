"""A run of the tests ends a test that waits, and fails if a folder takes more than its budget."""

import subprocess
import sys
from pathlib import Path

from tests.time_by_folder import exceeded

ROOT = Path(__file__).parents[2]

WAITING = """
import asyncio
import anyio

async def wait_for_the_answer():
    await asyncio.Event().wait()

async def test_that_waits():
    async with anyio.create_task_group() as group:
        group.start_soon(wait_for_the_answer, name="the one that waits")

async def test_behind_it():
    await asyncio.sleep(0)
"""


def test_a_test_that_waits_fails_with_the_calls_that_its_tasks_wait_in(tmp_path: Path) -> None:
    (tmp_path / "test_waiting.py").write_text(WAITING)
    command = [sys.executable, "-m", "pytest", "-q", "--timeout", "0.2", "-p", "tests.waiting_tests"]
    options = ["-p", "no:cacheprovider", "-o", "anyio_mode=auto", "--rootdir", str(tmp_path), str(tmp_path)]
    run = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in run.stdout, run.stdout + run.stderr
    assert "Task 'the one that waits' (most recent call last)" in run.stdout
    assert "in wait_for_the_answer\n    await asyncio.Event().wait()" in run.stdout


def test_a_folder_may_take_half_as_much_again_as_its_budget() -> None:
    budgets = {"tests/a": 10.0, "tests/b": 20.0, "tests/c": 30.0}
    for seconds, told in (
        ({"tests/a": 14, "tests/b": 20, "tests/c": 30}, []),
        ({"tests/a": 16, "tests/b": 20, "tests/c": 30}, ["tests/a took 16.0"]),
        ({"tests/a": 5, "tests/b": 5, "tests/c": 46}, ["tests/c took 46.0"]),
        ({"tests/a": 28, "tests/b": 40, "tests/c": 60}, []),  # a machine of half the speed
        ({"tests/a": 31, "tests/b": 40, "tests/c": 60}, ["tests/a took 31.0"]),
        ({"tests/a": 10, "tests/b": 20, "tests/c": 30, "tests/new": 2.9}, []),
        ({"tests/a": 10, "tests/b": 20, "tests/c": 30, "tests/new": 3.1}, ["tests/new took 3.1"]),
        ({"tests/a": 10}, []),
    ):
        lines = exceeded(seconds, budgets)
        assert [line.partition(" s of")[0] for line in lines] == told, seconds
