"""The feature of docs/own-feature.md: the page shows its files, and a host that finds the package has all of it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sophon_hosting.features.feature import Phase

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "own-feature.md"
EXAMPLE = ROOT / "docs" / "examples" / "machine_load"
FILE = re.compile(r"^```(?:py|toml)\n# (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TEST = re.compile(r"^```py\n(from .*?)^```", re.MULTILINE | re.DOTALL)
PATIENCE_SECONDS = 120

RUN_TESTS = """
import asyncio
for name, test in [*vars().items()]:
    if name.startswith("test_"):
        asyncio.run(test())
        print(name)
"""


def test_the_page_shows_every_file_of_the_example_as_it_is() -> None:
    files = {str(path.relative_to(EXAMPLE)): path.read_text() for path in EXAMPLE.rglob("*.*") if is_source(path)}
    assert dict(FILE.findall(PAGE.read_text())) == files


def is_source(path: Path) -> bool:
    return path.suffix in (".py", ".toml")


def test_the_page_lists_every_phase() -> None:
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE.read_text(), re.MULTILINE)) == {each.name for each in Phase}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, as `pip install` would leave it."""
    folder = tmp_path_factory.mktemp("own-feature")
    shutil.copytree(
        EXAMPLE / "sophon_machine_load", folder / "sophon_machine_load", ignore=shutil.ignore_patterns("__pycache__")
    )
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    metadata = folder / "sophon_machine_load-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = list[str]()
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return folder


def run(installed: Path, *arguments: str) -> str:
    """Run Python where the package is installed; return its output."""
    folders = [installed, ROOT, *(ROOT / part for part in ("middlewares", "hosting", "channels"))]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SOPHON__")},
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
    }
    found = subprocess.run(
        [sys.executable, *arguments],
        cwd=installed,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_the_tests_of_the_page_pass(installed: Path) -> None:
    program = "\n".join([*TEST.findall(PAGE.read_text()), RUN_TESTS])
    passed = run(installed, "-W", "error", "-c", program).split()
    assert passed == ["test_the_load_is_measured_each_minute", "test_an_operator_reads_the_load"]


@pytest.fixture(scope="module")
def visit(installed: Path) -> dict[str, Any]:
    """What a host has that finds the package."""
    outcome: dict[str, Any] = json.loads(run(installed, "-W", "error", "-m", "tests.hosting.features.load_host"))
    return outcome


def test_its_command_is_listed_behind_those_of_the_host(installed: Path) -> None:
    commands = run(installed, "-m", "sophon_hosting.cli", "--help").splitlines()
    assert commands[-1].split() == ["load", "Show", "how", "busy", "the", "machine", "of", "a", "host", "is."]
    assert "sophon load show [OPTIONS]" in run(installed, "-m", "sophon_hosting.cli", "load", "show", "--help")


def test_its_operation_is_answered_over_http(visit: dict[str, Any]) -> None:
    assert visit["status"] == 200
    assert visit["answer"]["now"] >= 0
    assert len(visit["answer"]["last_hour"]) == 1


def test_programs_call_its_operation_like_those_of_the_host(visit: dict[str, Any]) -> None:
    assert set(visit["called"]) == {"now", "last_hour"}


def test_its_tool_is_offered_to_turns(visit: dict[str, Any]) -> None:
    assert "machine.load" in visit["tools"]


def test_its_event_is_known_with_the_features_and_goes_to_operators(visit: dict[str, Any]) -> None:
    assert "load_measured" in visit["known"]
    assert visit["events"] == [["load_measured", "operators", ["load", "run_id", "session_id", "task_id"]]]


def test_its_setting_is_described_and_set_like_those_of_the_host(installed: Path) -> None:
    described = json.loads(run(installed, "-m", "sophon_hosting.cli", "config", "schema"))
    assert described["properties"]["Sophon"]["properties"]["Load"]["default"] == {"Enabled": True}
    shown = json.loads(run(installed, "-m", "sophon_hosting.cli", "--set", "Load.Enabled=false", "config", "show"))
    assert shown["Sophon"]["Load"] == {"Enabled": False}


def test_its_service_does_not_exist_where_it_is_switched_off(visit: dict[str, Any]) -> None:
    assert visit["measured_if_off"] is False


def test_its_service_runs_from_the_start_of_the_host_to_its_end(visit: dict[str, Any]) -> None:
    assert visit["running"] == [False, True, False]
