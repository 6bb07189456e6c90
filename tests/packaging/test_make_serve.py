"""`make run` on a terminal and `make serve` start the host, and what make is told reaches it."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 30

PROGRAM = f"""#!{sys.executable}
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM, signal.SIGINT}})
print("started", *sys.argv[1:], flush=True)
print("told", signal.sigwait({{signal.SIGTERM, signal.SIGINT}}).name, flush=True)
"""


@pytest.fixture
def make(tmp_path: Path):
    """Starts make with a program that says what it was started with, and what it is told."""
    (tmp_path / "sophon").write_text(PROGRAM)
    (tmp_path / "sophon").chmod(0o755)
    running: list[subprocess.Popen[str]] = []

    def start(target: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        command = ["make", "--no-print-directory", "--old-file=.venv/.run", target, f"BIN={tmp_path}"]
        running.append(
            subprocess.Popen(command, cwd=ROOT, stdin=stdin, stdout=subprocess.PIPE, text=True, start_new_session=True)
        )
        return running[-1]

    yield start
    for each in running:
        with contextlib.suppress(ProcessLookupError):  # make may have gone, and left the program
            os.killpg(each.pid, signal.SIGKILL)
        each.communicate()


def told(process: subprocess.Popen[str]) -> str:
    """All that the program says until it ends."""
    return process.communicate(timeout=PATIENCE_SECONDS)[0]


def test_make_serve_starts_the_host_without_a_terminal(make) -> None:
    process = make("serve")
    assert process.stdout.readline() == "started serve\n"
    process.send_signal(signal.SIGTERM)
    assert told(process) == "told SIGTERM\n"


def test_make_run_on_a_terminal_starts_the_host(make) -> None:
    outside, terminal = pty.openpty()
    try:
        process = make("run", stdin=terminal)
        assert process.stdout.readline() == "started serve\n"
        process.send_signal(signal.SIGTERM)
        assert told(process) == "told SIGTERM\n"
    finally:
        os.close(outside)
        os.close(terminal)


def test_make_run_without_a_terminal_answers_standard_input(make) -> None:
    process = make("run")
    assert process.stdout.readline() == "started chat\n"
    os.killpg(process.pid, signal.SIGINT)
    assert told(process) == "told SIGINT\n"


def test_ctrl_c_reaches_the_host_once(make) -> None:
    process = make("serve")
    assert process.stdout.readline() == "started serve\n"
    os.killpg(process.pid, signal.SIGINT)
    assert told(process) == "told SIGINT\n"


def test_make_help_shows_all_three() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {"run", "serve", "chat"} <= {line.split()[0] for line in shown.splitlines()}
