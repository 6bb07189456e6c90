"""How many files and functions somebody passes who follows one message: limits that only fall."""

import re
import subprocess
import sys

GOALS = {"hello": (115, 430), "one tool call more": (150, 580)}
LIMITS = {"hello": (129, 493), "one tool call more": (183, 722)}
"""What has been reached; lower it with every change that lowers the count, never raise it."""


def test_a_hello_enters_few_files() -> None:
    # A fresh process: what other tests have loaded or switched on is not counted.
    ran = subprocess.run([sys.executable, "-m", "tests.bench.trace"], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    counted = {
        what: (int(files), int(functions))
        for what, files, functions in re.findall(r"^(.+): (\d+) files, (\d+) functions$", ran.stdout, re.MULTILINE)
    }
    for what, found in counted.items():
        print(f"{what}: {found[0]} files, {found[1]} functions; goal {GOALS[what]}")
    for what, (files, functions) in LIMITS.items():
        assert counted[what][0] <= files, what
        assert counted[what][1] <= functions, what
