"""`make run` ends as a person expects it: quietly when it was left, and with an error when there was one."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


STRUCK = "kill -INT $PPID; "
"""Ctrl-C strikes the shell in front of the program as well."""


@pytest.mark.parametrize(
    ("does", "left"),
    [("exit 0", True), ("exit 130", True), (STRUCK + "exit 130", True), ("exit 1", False), ("exit 143", False)],
)
def test_leaving_with_ctrl_c_is_no_error_of_make(tmp_path: Path, does: str, left: bool) -> None:
    program = tmp_path / "sophon"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    done = subprocess.run(
        ["make", "--no-print-directory", "--old-file=.venv/.run", "run", f"BIN={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0, done.stderr == "") == (left, left)
    assert done.stdout == ""
