"""Programs that run as in an environment with some of the extras: what the others install is not found there."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.packaging.requirements import ROOT, list_missing_packages

FOLDERS = [str(ROOT / folder) for folder in (".", "middlewares", "hosting", "channels")]

HIDING = """
import sys
from importlib.machinery import PathFinder
sys.path[:0] = {folders!r}
hidden, find = frozenset({hidden!r}), PathFinder.find_spec

def find_spec(fullname, path=None, target=None):
    return None if fullname.partition(".")[0] in hidden else find(fullname, path, target)

PathFinder.find_spec = find_spec
"""
"""The packages are missing as they would be if they had never been installed: for `find_spec`, too."""


def run_with(
    extras: Sequence[str], program: str, *, folder: Path, arguments: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh interpreter that finds the packages of these extras, and of no others."""
    code = HIDING.format(folders=FOLDERS, hidden=list_missing_packages(extras)) + program
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=folder
    )
