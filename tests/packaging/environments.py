"""Programs that run as in an environment with some of the extras: what the others install is not found there."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.packaging.requirements import ROOT, list_missing_packages

FOLDERS = [str(ROOT / folder) for folder in (".", "middlewares", "hosting", "channels")]

FORKING = """
import importlib, json, os, sys, traceback
from importlib.machinery import PathFinder
from pathlib import Path
given = json.load(sys.stdin)
sys.path[:0] = given["folders"]
hidden, find = frozenset(given["hidden"]), PathFinder.find_spec

def find_spec(fullname, path=None, target=None):
    return None if fullname.partition(".")[0] in hidden else find(fullname, path, target)

PathFinder.find_spec = find_spec
for name in given["imports"]:
    importlib.import_module(name)

def run(name, program):
    for number, stream in (1, "out"), (2, "errors"):
        os.dup2(os.open(f"{stream} of {name}", os.O_WRONLY | os.O_CREAT), number)
    Path(name).mkdir()
    os.chdir(name)
    sys.argv = ["sophon", *program["arguments"]]
    try:
        exec(program["code"], {"__name__": "__main__"})
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0

codes = {}
for name, program in given["programs"].items():
    pid = os.fork()
    if pid == 0:
        code = run(name, program)
        sys.stdout.flush()
        os._exit(code)
    codes[name] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps(codes))
"""
"""The packages are missing as they would be if they had never been installed: for `find_spec`, too."""


@dataclass(frozen=True)
class Program:
    """What to run: its code, and the arguments of its command line."""

    code: str
    arguments: Sequence[str] = ()


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def run_with(
    extras: Sequence[str], programs: Mapping[str, Program], folder: Path, imports: Sequence[str]
) -> dict[str, Ended]:
    """Run programs in an environment with these extras and no others, each in a folder and a process of its own.

    They are forked from one interpreter that has imported these modules: an import takes most of the time.
    """
    given = {
        "folders": FOLDERS,
        "hidden": list_missing_packages(*extras),
        "imports": imports,
        "programs": {name: asdict(program) for name, program in programs.items()},
    }
    done = subprocess.run(
        [sys.executable, "-c", FORKING],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return {
        name: Ended(code, (folder / f"out of {name}").read_text(), (folder / f"errors of {name}").read_text())
        for name, code in json.loads(done.stdout).items()
    }
