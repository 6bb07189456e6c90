"""Where the time of a test run goes, by folder; a whole run fails if a folder takes half as much again as its budget.

Budgets are seconds of processor time (`[tool.sophon.test_seconds]` in pyproject.toml), of the test's process and of
the processes that it has waited for: unlike the time on the clock they hardly depend on what else the machine does.
A machine that is slower in everything is allowed for: each folder is compared with the median of all.
"""

import resource
import statistics
import time
import tomllib
from collections import defaultdict
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

GROWTH = 1.5
"""What a folder may take of its budget."""

SMALLEST = 2.0
"""Seconds up to which a folder needs no budget."""


@dataclass
class FolderTimes:
    """Seconds of each folder of tests, with their fixtures: on the clock, and of the processor."""

    clock: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    processor: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, folder: str, clock: float, processor: float) -> None:
        """Add what one of its tests has taken, or all of them in another process."""
        self.clock[folder] += clock
        self.processor[folder] += processor


class TimeByFolder:
    """Plugin that measures in each process of pytest-xdist, and compares where they come together."""

    def __init__(self, root: Path, is_whole: bool) -> None:
        self._root, self._is_whole = root, is_whole
        self.times = FolderTimes()
        self._exceeded: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Measure a test with the fixtures that are made or ended for it."""
        clock, processor = time.monotonic(), processor_seconds()
        try:
            return (yield)
        finally:
            folder = "/".join(item.path.relative_to(self._root).parent.parts[:3])
            self.times.add(folder, time.monotonic() - clock, processor_seconds() - processor)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a process of pytest-xdist has measured."""
        for measured in getattr(node, "workeroutput", {}).get("time_by_folder", ()):
            self.times.add(*measured)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell the process that started this one, or compare with the budgets if everything ran."""
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["time_by_folder"] = [
                (folder, seconds, self.times.processor[folder]) for folder, seconds in self.times.clock.items()
            ]
        elif self._is_whole and session.exitstatus == pytest.ExitCode.OK:
            self._exceeded = exceeded(self.times.processor, read_budgets(self._root))
            if self._exceeded:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the folders that take a second or more."""
        if not self._is_whole:
            return
        terminalreporter.section("time by folder")
        for folder, seconds in sorted(self.times.clock.items(), key=lambda each: -each[1]):
            if seconds >= 1:
                processor = self.times.processor[folder]
                terminalreporter.line(f"{seconds:8.1f} s ({processor:6.1f} s of processor) {folder}")
        for line in self._exceeded:
            terminalreporter.line(line, red=True)


def exceeded(seconds: Mapping[str, float], budgets: Mapping[str, float]) -> list[str]:
    """Return a line for each folder that takes more than it may, or needs a budget; none if there are no budgets."""
    if not budgets:
        return []
    pace = max(statistics.median(seconds.get(folder, 0.0) / budget for folder, budget in budgets.items()), 1.0)
    lines = [
        f"{folder} took {seconds[folder]:.1f} s of processor time, and its budget is {budget:g} s x {pace * GROWTH:.1f}"
        for folder, budget in budgets.items()
        if seconds.get(folder, 0.0) > budget * pace * GROWTH
    ]
    return lines + [
        f"{folder} took {took:.1f} s of processor time, and has no budget in pyproject.toml"
        for folder, took in seconds.items()
        if folder not in budgets and took > SMALLEST * pace * GROWTH
    ]


def read_budgets(root: Path) -> dict[str, float]:
    """Return the seconds of each folder that pyproject.toml allows."""
    budgets: dict[str, float] = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["sophon"]["test_seconds"]
    return budgets


def processor_seconds() -> float:
    """Return the processor time of this process, and of its children that have ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def pytest_configure(config: pytest.Config) -> None:
    """Measure; only a run of all tests is compared and printed."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not (
        config.option.keyword or config.option.markexpr
    )
    config.pluginmanager.register(TimeByFolder(config.rootpath, is_whole), "time-by-folder")
