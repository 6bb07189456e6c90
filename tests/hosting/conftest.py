"""The program as a person runs it: in a folder of its own, without keys, over pipes and in a terminal."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sophon_hosting.cli.app import run_command_line
from tests.fork_server import ForkedProcess
from tests.programs import Process

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "sophon_hosting.cli"]
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Outcome:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Command = Callable[..., Outcome]


def clean_environment(home: Path) -> dict[str, str]:
    """No key, no settings but any free port, and no Ollama to be found."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("", "middlewares", "hosting", "channels")),
        "OLLAMA_HOST": "127.0.0.1:1",
        "SOPHON__Hub__Port": "0",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def sophon(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """A command in this process, which is fast; its standard input is at its end."""
    clean = clean_environment(folder)
    for name in set(os.environ) - set(clean):
        monkeypatch.delenv(name)
    for name, value in clean.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    kept, empty = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)

    def command(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run_command_line(arguments)
        written = capsys.readouterr()
        return Outcome(code, written.out, written.err)

    yield command
    os.dup2(kept, 0)
    os.close(kept)
    os.close(empty)


@pytest.fixture
def process(folder: Path) -> Command:
    """A command in a process of its own, with lines on its standard input."""

    def command(*arguments: str, lines: str = "", **environment: str) -> Outcome:
        forked = ForkedProcess(arguments, folder, clean_environment(folder) | environment, lines=lines)
        try:
            out, errors = forked.communicate(PATIENCE_SECONDS)
        finally:
            forked.kill()
        return Outcome(forked.wait(), out, errors)

    return command


@pytest.fixture
def fresh_process(folder: Path) -> Command:
    """The same with an interpreter of its own, as people start it."""

    def command(*arguments: str, lines: str = "", **environment: str) -> Outcome:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=lines,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=folder,
            env=clean_environment(folder) | environment,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return command


def in_terminal(
    arguments: tuple[str, ...], folder: Path, environment: dict[str, str], terminal: int
) -> subprocess.Popen[str]:
    """Start an interpreter that runs `sophon` in a terminal."""
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=folder,
        env=environment,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        text=True,
    )


class Terminal:
    """The program in a terminal of 80 columns; whoever types waits for what they answer, never for time."""

    def __init__(self, folder: Path, *arguments: str, fresh: bool = False) -> None:
        self._own, theirs = pty.openpty()
        fcntl.ioctl(self._own, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = clean_environment(folder)
        self.process: Process
        if fresh:
            self.process = in_terminal(arguments, folder, environment, theirs)
        else:
            self.process = ForkedProcess(arguments, folder, environment, terminal=theirs)
        os.close(theirs)
        self.shown = ""
        self._seen = 0

    def wait_for(self, text: str) -> None:
        """Until it is shown behind what was waited for before."""
        while (at := self.shown.find(text, self._seen)) < 0:
            assert self._read(), f"{text!r} never came; this did: {self.shown[self._seen :]!r}"
        self._seen = at + len(text)

    def type(self, text: str) -> None:
        os.write(self._own, text.encode())

    def interrupt_the_prompt(self) -> None:
        """Ctrl-C once the program sleeps in wait for a key.

        Python's `input` shows the prompt some microseconds before it waits, and a signal between the two is noticed
        only with the next key: too short for a person, not for a test.
        """
        state = Path(f"/proc/{self.process.pid}/stat")
        while state.exists() and state.read_text().rpartition(")")[2].split()[0] != "S":
            os.sched_yield()
        self.type("\x03")

    def ends(self) -> int:
        """Read what is left; the exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._own)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._own], [], [], PATIENCE_SECONDS)
        try:
            data = os.read(self._own, 65536) if ready else b""
        except OSError:  # the other end has gone
            data = b""
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@pytest.fixture
def terminal(folder: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*arguments: str, fresh: bool = False) -> Terminal:
        opened.append(Terminal(folder, *arguments, fresh=fresh))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
