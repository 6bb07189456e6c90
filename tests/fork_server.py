"""Starts `sophon`, or a script that uses it, in processes that are forked from one that has imported it.

An interpreter and its imports take 0.8 s of a processor, and the tests start a hundred hosts. A forked process is one
of its own in every other respect: folder, environment, signals, standard streams or a terminal, exit code. What an
interpreter does when it starts is proven by the tests that start `python -m sophon_hosting.cli` (tests/hosting/cli).
"""

import contextlib
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

PACKAGES = ("sophon", "sophon_middlewares", "sophon_channels", "sophon_hosting")
LAZY = ("alembic.command", "alembic.context", "sqlalchemy.dialects.sqlite", "uuid")
"""What `sophon` imports only when it is used."""

INHERITED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
"""Signals that a program leaves ignored if it was started so."""

MOST_BYTES = 2**16
POLL_SECONDS = 0.005
END_SECONDS = 30


class ForkedProcess:
    """What `subprocess.Popen` gives, as far as tests use it.

    Standard input contains `lines` and ends. With `terminal`, the descriptor of a pseudo-terminal, the process leads a
    session whose controlling terminal that is, and all three standard streams are it. `imports` are imported by the
    server, once, before it forks: for a library that takes seconds and that only few programs use.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        *,
        script: Path | None = None,
        lines: str = "",
        terminal: int | None = None,
        imports: Sequence[str] = (),
    ) -> None:
        order = {
            "script": script and str(script),
            "arguments": arguments,
            "folder": str(folder),
            "environment": dict(environment),
            "ignored": [number for number in INHERITED if signal.getsignal(number) is signal.SIG_IGN],
            "has_terminal": terminal is not None,
            "imports": imports,
        }
        self.args = arguments
        self.returncode: int | None = None
        self._news, theirs = socket.socketpair()
        self.stdout: IO[str] = io.StringIO()
        self.stderr: IO[str] = io.StringIO()
        given = [theirs.fileno(), *([terminal] * 3 if terminal is not None else self._pipes(lines))]
        socket.send_fds(_server(), [json.dumps(order).encode()], given)
        theirs.close()
        if terminal is None:
            for each in given[1:]:
                os.close(each)
        self._lines = self._news.makefile("r")
        pid = self._lines.readline()
        assert pid, "the fork server has ended; its errors are above"
        self.pid = int(pid)

    def _pipes(self, lines: str) -> list[int]:
        """Make the standard streams of a process without a terminal; returns its ends of them."""
        out, out_end = os.pipe()
        errors, errors_end = os.pipe()
        self.stdout, self.stderr = (os.fdopen(each, encoding="utf-8") for each in (out, errors))
        return [_readable(lines), out_end, errors_end]

    def poll(self) -> int | None:
        """The exit code, once it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end: the exit code, or the signal that ended it below zero."""
        if self.returncode is None:
            if not select.select([self._news], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._lines.readline())
            self._lines.close()
            self._news.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read to the end, and wait for it: what it wrote, and its errors."""
        read: dict[str, str] = {}
        streams = {"out": self.stdout, "errors": self.stderr}
        readers = [threading.Thread(target=_read, args=(read, *each), daemon=True) for each in streams.items()]
        for reader in readers:
            reader.start()
        deadline = None if timeout is None else time.monotonic() + timeout
        for reader in readers:
            reader.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(None if deadline is None else max(POLL_SECONDS, deadline - time.monotonic()))
        return read["out"], read["errors"]


def _readable(text: str) -> int:
    """Return a descriptor that reads a text and then ends."""
    data = text.encode()
    readable, writable = os.pipe()
    if len(data) > MOST_BYTES:
        fcntl.fcntl(writable, fcntl.F_SETPIPE_SZ, len(data))  # nobody reads yet
    os.write(writable, data)
    os.close(writable)
    return readable


def _read(into: dict[str, str], name: str, stream: IO[str]) -> None:
    into[name] = "" if stream.closed else stream.read()
    stream.close()


@cache
def _server() -> socket.socket:
    """The server of this test process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    subprocess.Popen(
        [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
    ).returncode = 0  # nobody waits for it, and that is no mistake
    theirs.close()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MOST_BYTES)
    return ours


def serve(control: socket.socket) -> str | None:
    """Fork for every order, and report how each process ends.

    Returns in a process that was forked, once it has what a program is started with: the script to run, if any.
    """
    ended, wakes = os.pipe2(os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    running: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([control, ended], [], [])
        if ended in ready:
            os.read(ended, MOST_BYTES)
            report_ends(running)
        if control not in ready:
            continue
        order, given, _, _ = socket.recv_fds(control, MOST_BYTES, 4)
        if not order:
            os._exit(0)  # the test process is gone; what still runs is not for us to end
        asked = json.loads(order)
        prepare(asked["imports"])
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return become(asked, given[1:])
        os.write(given[0], f"{pid}\n".encode())
        running[pid] = given[0]
        for each in given[1:]:
            os.close(each)


def report_ends(running: dict[int, int]) -> None:
    """Tell the tests the exit codes of the processes that have ended."""
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            news = running.pop(pid)
            with contextlib.suppress(BrokenPipeError):
                os.write(news, f"{os.waitstatus_to_exitcode(status)}\n".encode())
            os.close(news)


def become(order: dict[str, Any], streams: list[int]) -> str | None:
    """Give this process what a program is started with; returns the script to run."""
    for number in INHERITED:
        default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, signal.SIG_IGN if number in order["ignored"] else default)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    if order["has_terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8", line_buffering=order["has_terminal"]
    )
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)), "utf-8", "backslashreplace", line_buffering=True
    )
    sys.argv[1:] = order["arguments"]
    sys.path[0] = order["folder"]
    return order["script"]


def import_all() -> None:
    """Import every module of the packages, and what they import late."""
    for package in map(importlib.import_module, PACKAGES):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "__main__" not in found.name and ".migrations" not in found.name:
                importlib.import_module(found.name)
    prepare(LAZY)


def use_all_once() -> None:
    """Do what is done at first use, which takes half a second, so that no process does it again."""
    importlib.import_module("tests.first_use").use_host_once()
    freeze()


def prepare(names: Sequence[str]) -> None:
    """Import modules, if they are not yet, so that the processes share them."""
    if not (missing := [name for name in names if name not in sys.modules]):
        return
    for name in missing:
        importlib.import_module(name)
    freeze()


def freeze() -> None:
    """Have what exists shared by all processes: a collection would copy the pages that it goes through."""
    for thread in set(threading.enumerate()) - {threading.current_thread()}:
        thread.join(END_SECONDS)  # whoever told it to end has not always waited for that
        assert not thread.is_alive(), f"a fork takes only one thread with it: {thread}"
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    import_all()
    use_all_once()
    script = serve(socket.socket(fileno=int(sys.argv.pop())))
    if script is None:
        runpy.run_module("sophon_hosting.cli", run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(script, run_name="__main__")
