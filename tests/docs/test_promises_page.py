"""docs/promises.md names an existing test for each promise, and those of the queues run over every backend."""

import re
from pathlib import Path

import pytest

from sophon_hosting.settings.queue import QUEUE_BACKENDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)
]
QUEUE_SUITE = "tests/hosting/queue/"


def test_the_promises_are_numbered() -> None:
    assert [int(cells[0]) for cells in ROWS] == list(range(1, len(ROWS) + 1))
    assert len(ROWS) > 10


def test_each_promise_names_tests() -> None:
    for cells in ROWS:
        assert len(cells) == 4, cells
        assert NAMED.findall(cells[2] + cells[3]), cells[1]
        of_queues = [path for path, _ in NAMED.findall(cells[2])]
        assert all(path.startswith(QUEUE_SUITE) for path in of_queues), f"those of the suite of all queues: {cells[1]}"


def check_named_test(path: str, test: str) -> None:
    file = ROOT / path
    assert file.is_file(), path
    assert not test or f"def {test}(" in file.read_text(encoding="utf-8"), f"{path}::{test}"


def test_each_named_test_exists() -> None:
    for path, test in set(NAMED.findall(PAGE)):
        check_named_test(path, test)


def test_a_name_that_no_test_has_is_found() -> None:
    with pytest.raises(AssertionError):
        check_named_test("tests/hosting/queue/test_leases.py", "test_that_nobody_wrote")


def test_the_suite_runs_over_queues_that_the_settings_know() -> None:
    modules = {path.stem for path in (ROOT / QUEUE_SUITE / "backends").glob("*.py")} - {"backend"}
    known = {
        "memory": "Memory",
        "redis_streams": "Redis",
        "redis": "Redis",
        "rabbitmq": "RabbitMq",
        "postgresql": "Postgres",
    }
    assert {known[each] for each in modules if each in known} <= set(QUEUE_BACKENDS)
    assert "memory" in modules
