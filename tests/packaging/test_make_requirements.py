"""Each task of the Makefile installs what its command imports, so that it works as the first one in a fresh clone."""

import ast
import re
import subprocess
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.packaging.module_imports import list_foreign_packages
from tests.packaging.requirements import ROOT, list_distributions, list_installed

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROGRAMS = {"lint-imports": "import-linter"}
"""Distributions of programs that are not named like them."""
HOST = ("sophon_hosting.cli", "sophon_hosting.cli.app", "sophon_hosting.host_server")
PROGRAMS_OF_TESTS = tuple(
    ".".join(each.relative_to(ROOT).with_suffix("").parts)
    for folder in ("bench", "soak", "simulation")
    for each in (ROOT / "tests" / folder).rglob("*.py")
)
"""All that `make test` in a fresh clone, as CI runs it, does not import."""
PAGES = "".join(each.read_text(encoding="utf-8") for each in (ROOT / "docs" / "reference").glob("*.md"))
DOCUMENTED = tuple(re.findall(r"automodule:: ([\w.]+)", PAGES))
COMMANDS = {
    **dict.fromkeys(("run", "serve", "chat"), HOST),
    **dict.fromkeys(("soak", "chaos", "simulate", "bench"), PROGRAMS_OF_TESTS),
    "docs": DOCUMENTED,
}
"""The modules that the command of a task imports."""


def list_extras(task: str) -> list[str]:
    """Return the extras that the prerequisites of a task install."""
    [prerequisites] = re.findall(rf"^{task}: ([^#\n]*)", MAKEFILE, re.M)
    extras = set[str]()
    for stamp in re.findall(r"\$\(VENV\)/\.(\w+)", prerequisites):
        [recipe] = re.findall(rf"^\$\(VENV\)/\.{stamp}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
        extras |= set(re.findall(r"--editable '?\.\[(\w+)\]", recipe))
    return sorted(extras)


def test_a_task_installs_what_its_command_imports() -> None:
    for task, modules in COMMANDS.items():
        installed = list_installed(*list_extras(task))
        missing = {
            name: file
            for name, file in list_foreign_packages(modules).items()
            if not {canonicalize_name(each) for each in list_distributions().get(name, [name])} & installed
        }
        assert missing == {}, task


def test_a_task_installs_the_programs_that_it_starts() -> None:
    for task, recipe in re.findall(r"^(\w+):.*## .*\n((?:\t.*\n)+)", MAKEFILE, re.M):
        started = set(re.findall(r"\$\(BIN\)/([\w-]+)", recipe)) - {"python", "sophon"}
        started |= set(re.findall(r"\$\(BIN\)/python -m (\w+)", recipe)) - {"tests", "sophon_hosting"}
        installed = list_installed(*list_extras(task))
        assert {each for each in started if canonicalize_name(PROGRAMS.get(each, each)) not in installed} == set(), task


def test_the_extensions_and_the_theme_of_the_site_are_installed() -> None:
    configuration = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    [names] = re.findall(r"^extensions = (\[.*\])", configuration, re.M)
    [theme] = re.findall(r'^html_theme = "(\w+)"', configuration, re.M)
    wanted = {canonicalize_name(each.partition(".")[0]) for each in [*ast.literal_eval(names), theme]}
    assert wanted - list_installed("docs") == set()


@pytest.mark.parametrize("stamp", ["run", "dev"])
def test_a_set_up_that_was_interrupted_begins_again(tmp_path: Path, stamp: str) -> None:
    """Ctrl-C while `venv` installs pip leaves a python without it."""
    venv, program = tmp_path / "venv", tmp_path / "python"
    (venv / "bin").mkdir(parents=True)
    put_program(venv / "bin" / "python", "exit 1")
    put_program(
        program, f'case "$*" in "-m venv"*) echo "$*"; rm {venv}/bin/python; ln -s /bin/true {venv}/bin/python;; esac'
    )
    command = ["make", "--no-print-directory", f"VENV={venv}", f"PYTHON={program}", f"{venv}/.{stamp}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"-m venv --clear {venv}\n")
    assert (venv / f".{stamp}").exists()


def put_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
