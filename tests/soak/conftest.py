"""Long runs with random choices; `make soak SEED=123 ROUNDS=25` repeats the choices of a run.

Round n makes its choices from the seed SEED + n, which is in the name of its tests: one that failed is run alone with
`make soak SEED=<that number> ROUNDS=1`. The seed decides what is sent, when a copy of it is sent and after how much
progress the host is killed; what the host is doing at that moment is decided by the operating system.
"""

import random
from collections.abc import Generator
from typing import Any

import pytest
from pluggy import Result

from tests.programs import program

__all__ = ["program"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="the seed of the first round; without it, a new one")
    parser.addoption("--rounds", type=int, default=25, help="how often each test runs, each time with the next seed")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.seed is None:
        given = getattr(config, "workerinput", {})
        config.option.seed = given.get("seed", random.SystemRandom().randrange(10**9))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give the processes of pytest-xdist the seed that was drawn here."""
    node.workerinput["seed"] = node.config.option.seed


def pytest_report_header(config: pytest.Config) -> str:
    return f"soak: make soak SEED={config.option.seed} ROUNDS={config.option.rounds}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        first: int = metafunc.config.option.seed
        metafunc.parametrize("seed", range(first, first + metafunc.config.option.rounds))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, Result[pytest.TestReport], None]:
    report = (yield).get_result()
    if report.failed and hasattr(item, "callspec"):
        report.sections.append(("soak", f"make soak SEED={item.callspec.params['seed']} ROUNDS=1"))
